#include "frontend/huggingface/model.h"

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "abi/model_interface.h"
#include "base/strings.h"
#include "frontend/gguf/model.h"
#include "frontend/huggingface/folder.h"
#include "frontend/huggingface/foreign.h"
#include "frontend/huggingface/tied_head.h"
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

void check_pooling(const HuggingFaceConfig& config, const PoolingChoice& choice) {
  if (config.encoder || !choice.given()) return;
  throw_user("only an encoder makes a vector of a text: this model continues texts", "--pooling",
             "a model that \"tapml models\" lists as an encoder", config.architecture,
             "leave --pooling and --normalize out");
}

// Weights in the files that no function of the model has.
std::vector<std::string> unused_weights(const HuggingFaceConfig& config, const WeightFiles& files) {
  std::vector<std::string> names;
  if (config.encoder) {
    for (const std::string& name : config.encoder->unused) names.push_back(files.stored_name(name));
    return names;
  }
  // A tied head that is stored nonetheless duplicates the embedding.
  names.push_back(config.model.head + ".weight");
  if (!config.model.images) return names;
  // The last layers and the pooling of a vision encoder, which a model need not use.
  const std::string& tower = config.model.images->tower;
  const std::string part = tower.substr(tower.rfind('.') + 1) + ".";
  for (const auto& [name, tensor] : files.tensors) {
    if (name.find(part) != std::string::npos) names.push_back(name);
  }
  return names;
}

// If files have a separate head although embeddings are tied, transformers 5 uses it.
void untie_different_head(HuggingFaceModel& model, const WeightFiles& files) {
  if (!has_other_head(model.config, files)) return;
  model.config.model.tied_embeddings = false;
  model.warnings.push_back(
      "config.json sets tie_word_embeddings, but " + model.config.model.head +
      ".weight and the embedding are stored and differ: they are not tied, as in transformers");
}

// Reads all but the weights, whose files it opens.
WeightFiles read_folder(HuggingFaceModel& model, const models::QuantizationRef& quantization,
                        const PoolingChoice& pooling) {
  check_model_folder(model.folder);
  model.config = read_config_file(model.folder + "/config.json");
  model.warnings = model.config.warnings;
  check_pooling(model.config, pooling);
  if (model.config.encoder) model.config.pooling = read_pooling(model.folder, pooling);
  model.eos = find_eos(model.folder, model.config, model.warnings);
  if (quantization) quantization->check(model.config.weights());
  return open_weights(model.folder);
}

// The same from a GGUF file.
WeightFiles read_gguf(HuggingFaceModel& model, const models::QuantizationRef& quantization,
                      const PoolingChoice& pooling) {
  GgufModel file = open_gguf_model(model.folder);
  model.config = std::move(file.config);
  model.warnings = model.config.warnings;
  check_pooling(model.config, pooling);
  if (model.config.encoder) model.config.pooling = pooling.applied_to({});
  model.eos = std::move(file.eos);
  if (quantization) quantization->check(model.config.weights());
  return std::move(file.weights);
}

}  // namespace

HuggingFaceModel read_model(const std::string& path, const models::QuantizationRef& quantization,
                            const models::Precision& precision, const WorkWatcher& watcher,
                            const PoolingChoice& pooling) {
  HuggingFaceModel model;
  model.folder = resolve_model_folder(path);
  const WeightFiles files = is_gguf_model(model.folder) ? read_gguf(model, quantization, pooling)
                                                        : read_folder(model, quantization, pooling);
  untie_different_head(model, files);
  const std::vector<models::WeightSpec> weights = model.config.weights();
  LoadedWeights loaded = load_weights(files, weights, unused_weights(model.config, files),
                                      quantization, mismatch_hint(model.config), watcher);
  models::ModelDTypes dtypes{.fallback = model.config.dtype,
                             .by_name = {},
                             .quantization = quantization,
                             .layouts = std::move(loaded.layouts),
                             .precision = precision};
  for (const auto& [name, source] : loaded.sources) dtypes.by_name[name] = source.dtype();
  model.module = model.config.module(dtypes);
  model.layouts = std::move(dtypes.layouts);
  model.weights = std::move(loaded.tensors);
  model.sources = std::move(loaded.sources);
  model.quantization = quantization;
  for (std::string& warning : loaded.warnings) model.warnings.push_back(std::move(warning));
  warn_of_unreachable_eos(model);
  return model;
}

HuggingFaceModel read_config(const std::string& config_path,
                             const models::QuantizationRef& quantization,
                             const models::Precision& precision, const PoolingChoice& pooling) {
  HuggingFaceModel model;
  model.config = read_config_file(config_path);
  if (model.config.is_quantized) {
    throw_user("a configuration of quantized files does not say how their weights are stored",
               config_path, "the folder with the weights", "\"quantization_config\"",
               "pass the folder, or remove the field");
  }
  model.warnings = model.config.warnings;
  model.eos = model.config.eos;
  check_pooling(model.config, pooling);
  model.config.pooling = pooling.applied_to({});
  model.module = model.config.module({.fallback = model.config.dtype,
                                      .by_name = {},
                                      .quantization = quantization,
                                      .layouts = {},
                                      .precision = precision});
  model.quantization = quantization;
  warn_of_unreachable_eos(model);
  return model;
}

}  // namespace tapml::frontend
