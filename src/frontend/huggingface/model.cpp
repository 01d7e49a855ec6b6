#include "frontend/huggingface/model.h"

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "abi/model_interface.h"
#include "base/strings.h"
#include "frontend/huggingface/folder.h"
#include "frontend/huggingface/foreign.h"
#include "frontend/huggingface/weights.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "models/quantization.h"

namespace tapml::frontend {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = size_t{64} << 20;

// eos tokens of generation_config.json take precedence over config.json's.
std::vector<int32_t> find_eos(const std::string& folder, const HuggingFaceConfig& config,
                              std::vector<std::string>& warnings) {
  const std::string path = folder + "/generation_config.json";
  if (!fs::exists(path)) return config.eos;
  refuse_foreign_file(path);
  auto eos = parse_generation_eos(unwrap(read_text_file(path, kMaxConfigBytes)), path);
  if (!eos) return config.eos;
  for (const int32_t token : config.eos) {
    if (eos->empty() || std::ranges::find(*eos, token) != eos->end()) continue;
    warnings.push_back(
        "eos_token_id of config.json (" + std::to_string(token) +
        ") is not in generation_config.json: it does not end a text, as in transformers");
  }
  return *eos;
}

HuggingFaceConfig read_config_file(const std::string& path) {
  refuse_foreign_file(path);
  return parse_config(unwrap(read_text_file(path, kMaxConfigBytes)), path);
}

void warn_of_unreachable_eos(HuggingFaceModel& model) {
  const int64_t vocabulary = unwrap(model_interface_of(model.module.all_attrs())).vocabulary;
  for (int32_t token : model.eos) {
    if (token < vocabulary) continue;
    model.warnings.push_back("eos_token_id " + std::to_string(token) +
                             " is not in the vocabulary of " + std::to_string(vocabulary) +
                             " tokens, so that it never ends a text");
  }
}

// If shapes do not match, an absent field may be the cause.
std::string mismatch_hint(const HuggingFaceConfig& config) {
  if (config.defaulted.empty()) return {};
  return "fields missing in config.json got their published defaults: " + join(config.defaulted);
}

bool same_values(const HostTensor& a, const HostTensor& b) {
  if (a.shape() != b.shape()) return false;
  if (a.dtype() == b.dtype()) return std::ranges::equal(a.bytes(), b.bytes());
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a.at_f64(i) != b.at_f64(i)) return false;
  }
  return true;
}

// If files have a separate head although embeddings are tied, transformers 5 uses it.
void untie_different_head(HuggingFaceModel& model, const WeightFiles& files) {
  if (!model.config.model.tied_embeddings) return;
  const auto head = files.tensors.find(files.stored_name(model.config.model.head + ".weight"));
  const auto embedding =
      files.tensors.find(files.stored_name(model.config.model.embedding + ".weight"));
  if (head == files.tensors.end() || embedding == files.tensors.end()) return;
  if (same_values(head->second, embedding->second)) return;
  model.config.model.tied_embeddings = false;
  model.warnings.push_back(
      "config.json sets tie_word_embeddings, but " + model.config.model.head +
      ".weight and the embedding are stored and differ: they are not tied, as in transformers");
}

// What files have beside the weights of a model, as they should.
std::vector<std::string> unused_weights(const models::DecoderModel& model,
                                        const WeightFiles& files) {
  // A tied head that is stored nonetheless duplicates the embedding.
  std::vector<std::string> names = {model.head + ".weight"};
  if (!model.images) return names;
  // The last layers and the pooling of a vision encoder, which a model need not use.
  const std::string& tower = model.images->tower;
  const std::string part = tower.substr(tower.rfind('.') + 1) + ".";
  for (const auto& [name, tensor] : files.tensors) {
    if (name.find(part) != std::string::npos) names.push_back(name);
  }
  return names;
}

}  // namespace

HuggingFaceModel read_model(const std::string& path, const models::Quantization* quantization,
                            const models::Precision& precision, const WorkWatcher& watcher) {
  HuggingFaceModel model;
  model.folder = resolve_model_folder(path);
  check_model_folder(model.folder);
  model.config = read_config_file(model.folder + "/config.json");
  model.warnings = model.config.warnings;
  model.eos = find_eos(model.folder, model.config, model.warnings);
  std::vector<models::WeightSpec> weights = models::decoder_weights(model.config.model);
  if (quantization) models::check_quantizable(weights);
  const WeightFiles files = open_weights(model.folder);
  untie_different_head(model, files);
  weights = models::decoder_weights(model.config.model);
  LoadedWeights loaded = load_weights(files, weights, unused_weights(model.config.model, files),
                                      quantization, mismatch_hint(model.config), watcher);
  models::ModelDTypes dtypes{.fallback = model.config.dtype,
                             .by_name = {},
                             .quantization = quantization,
                             .precision = precision};
  for (const auto& [name, source] : loaded.sources) dtypes.by_name[name] = source.dtype();
  model.module = models::build_decoder(model.config.model, dtypes);
  model.weights = std::move(loaded.tensors);
  model.sources = std::move(loaded.sources);
  model.quantization = quantization;
  for (std::string& warning : loaded.warnings) model.warnings.push_back(std::move(warning));
  warn_of_unreachable_eos(model);
  return model;
}

HuggingFaceModel read_config(const std::string& config_path,
                             const models::Quantization* quantization,
                             const models::Precision& precision) {
  HuggingFaceModel model;
  model.config = read_config_file(config_path);
  model.warnings = model.config.warnings;
  model.eos = model.config.eos;
  model.module = models::build_decoder(model.config.model, {.fallback = model.config.dtype,
                                                            .by_name = {},
                                                            .quantization = quantization,
                                                            .precision = precision});
  model.quantization = quantization;
  warn_of_unreachable_eos(model);
  return model;
}

}  // namespace tapml::frontend
