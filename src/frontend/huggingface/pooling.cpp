#include "frontend/huggingface/pooling.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/strings.h"
#include "frontend/huggingface/foreign.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

using models::Pooling;
using models::PoolingConfig;

namespace {

namespace fs = std::filesystem;

constexpr const char* kHint = "give --pooling and --normalize to decide yourself";

struct Mode {
  std::string_view name;           // of "pooling_mode"
  std::string_view flag;           // older files have one for each
  std::optional<Pooling> pooling;  // nullopt: not supported
};
constexpr std::array kModes = {
    Mode{"mean", "pooling_mode_mean_tokens", Pooling::kMean},
    Mode{"cls", "pooling_mode_cls_token", Pooling::kFirstToken},
    Mode{"max", "pooling_mode_max_tokens", {}},
    Mode{"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", {}},
    Mode{"weightedmean", "pooling_mode_weightedmean_tokens", {}},
    Mode{"lasttoken", "pooling_mode_lasttoken", {}}};

// A file beside the model; its whole text is kept with the values that name positions in it.
struct File {
  std::string path;
  Json json;

  explicit File(std::string at) : path(std::move(at)) {
    refuse_foreign_file(path);
    json = unwrap(parse_json(unwrap(read_text_file(path)), path));
  }
};

Pooling pooling_of_name(const JsonObjectReader& json) {
  const char* key = "pooling_mode";
  const std::string name = unwrap(json.required_string(key));
  const auto* mode = std::ranges::find(kModes, name, &Mode::name);
  if (mode != kModes.end() && mode->pooling) return *mode->pooling;
  throw_error(json.field_error(key, "is not a supported pooling", "\"mean\" or \"cls\"", kHint));
}

Pooling pooling_of_flags(const JsonObjectReader& json) {
  std::optional<Pooling> found;
  for (const Mode& mode : kModes) {
    if (!unwrap(json.bool_or(mode.flag, false))) continue;
    if (!mode.pooling || found) {
      throw_error(json.field_error(
          mode.flag, found ? "is true beside another pooling" : "is true: it is not supported",
          "one of \"pooling_mode_mean_tokens\" and \"pooling_mode_cls_token\"", kHint));
    }
    found = mode.pooling;
  }
  if (found) return *found;
  throw_error(json.field_error("pooling_mode_mean_tokens", "is not true, and no other pooling is",
                               "true, or \"pooling_mode_cls_token\"", kHint));
}

// `module` is the entry of modules.json that names the module's folder.
Pooling read_mode(const std::string& folder, const JsonObjectReader& module) {
  const std::string path = unwrap(module.required_string("path"));
  // Other files of the machine are not part of the model.
  if (path == "." || path == ".." ||
      path.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
    throw_error(module.field_error("path", "is not the name of a folder beside the file",
                                   "a name such as \"1_Pooling\""));
  }
  const File file(folder + "/" + (path.empty() ? "" : path + "/") + "config.json");
  const JsonObjectReader json(file.json, file.path);
  return json.has("pooling_mode") ? pooling_of_name(json) : pooling_of_flags(json);
}

}  // namespace

PoolingConfig PoolingChoice::applied_to(PoolingConfig config) const {
  return {.pooling = pooling.value_or(config.pooling),
          .normalized = normalized.value_or(config.normalized)};
}

PoolingConfig read_pooling(const std::string& folder, const PoolingChoice& choice) {
  const std::string path = folder + "/modules.json";
  std::error_code ignored;
  const bool is_decided = choice.pooling && choice.normalized;
  if (is_decided || !fs::exists(path, ignored)) return choice.applied_to({});
  const File file(path);
  if (!file.json.is_array()) {
    throw_user("the list of modules is not an array", path, "an array of objects",
               "another JSON value", "download the file again");
  }
  PoolingConfig config = {.normalized = false};
  bool pools = false;
  for (const Json& item : file.json.items()) {
    const JsonObjectReader module(item, path);
    const std::string type = unwrap(module.required_string("type"));
    const std::string name = type.substr(type.rfind('.') + 1);
    if (name == "Pooling") {
      if (!choice.pooling) config.pooling = read_mode(folder, module);
      pools = true;
    } else if (name == "Normalize") {
      config.normalized = true;
    } else if (name != "Transformer") {
      throw_error(module.field_error("type", "is a module that is not supported",
                                     "Transformer, Pooling or Normalize", kHint));
    }
  }
  if (!pools && !choice.pooling) {
    throw_user("the list of modules has no pooling", path, "a module of the type Pooling", "none",
               "give --pooling mean or --pooling cls");
  }
  return choice.applied_to(config);
}

}  // namespace tapml::frontend
