#include "frontend/huggingface/model.h"

#include <filesystem>

#include "abi/model_interface.h"
#include "frontend/huggingface/weights.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "models/quantization.h"

namespace tapml::frontend {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = size_t{64} << 20;

void check_folder(const std::string& folder) {
  const char* const expected = "a folder with config.json, model.safetensors and tokenizer.json";
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (fs::is_directory(status)) return;
  if (!fs::exists(status) && status.type() != fs::file_type::not_found) {
    throw_user("the model folder " + folder + " cannot be read", folder, expected, error.message());
  }
  const bool exists = fs::exists(status);
  throw_user(
      exists ? folder + " is not a folder" : "the model folder " + folder + " does not exist",
      folder, expected, exists ? "a file" : "nothing");
}

std::vector<int32_t> find_eos(const std::string& folder, const HuggingFaceConfig& config) {
  const std::string path = folder + "/generation_config.json";
  if (!fs::exists(path)) return config.eos;
  auto eos = parse_generation_eos(unwrap(read_text_file(path, kMaxConfigBytes)), path);
  return eos ? *eos : config.eos;
}

HuggingFaceConfig read_config_file(const std::string& path) {
  return parse_config(unwrap(read_text_file(path, kMaxConfigBytes)), path);
}

void warn_of_unreachable_eos(HuggingFaceModel& model) {
  const int64_t vocabulary = model_interface_of(model.module.attrs).vocabulary;
  for (int32_t token : model.eos) {
    if (token < vocabulary) continue;
    model.warnings.push_back("eos_token_id " + std::to_string(token) +
                             " is not in the vocabulary of " + std::to_string(vocabulary) +
                             " tokens, so that it never ends a text");
  }
}

}  // namespace

HuggingFaceModel read_model(const std::string& folder, const models::Quantization* quantization) {
  check_folder(folder);
  HuggingFaceModel model;
  model.config = read_config_file(folder + "/config.json");
  model.eos = find_eos(folder, model.config);
  const models::Architecture& architecture = models::find_architecture(model.config.architecture);
  const std::vector<models::WeightSpec> weights = architecture.weights(model.config.model);
  if (quantization) models::check_quantizable(weights);
  // A tied head that is stored all the same is the embedding once more.
  LoadedWeights loaded = load_weights(folder, weights, {"lm_head.weight"}, quantization);
  models::WeightDTypes dtypes{
      .fallback = model.config.dtype, .by_name = {}, .quantization = quantization};
  for (const auto& [name, source] : loaded.sources) dtypes.by_name[name] = source.dtype();
  model.module = architecture.build(model.config.model, dtypes);
  model.weights = std::move(loaded.tensors);
  model.sources = std::move(loaded.sources);
  model.quantization = quantization;
  model.warnings = std::move(loaded.warnings);
  model.tokenizer_path = folder + "/tokenizer.json";
  warn_of_unreachable_eos(model);
  return model;
}

HuggingFaceModel read_config(const std::string& config_path,
                             const models::Quantization* quantization) {
  HuggingFaceModel model;
  model.config = read_config_file(config_path);
  model.eos = model.config.eos;
  const models::Architecture& architecture = models::find_architecture(model.config.architecture);
  model.module = architecture.build(
      model.config.model,
      {.fallback = model.config.dtype, .by_name = {}, .quantization = quantization});
  model.quantization = quantization;
  warn_of_unreachable_eos(model);
  return model;
}

}  // namespace tapml::frontend
