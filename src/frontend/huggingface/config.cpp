#include "frontend/huggingface/config.h"

#include <array>
#include <limits>

#include "base/strings.h"
#include "frontend/huggingface/llama_config.h"
#include "frontend/huggingface/qwen2_moe_config.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

// What Hugging Face calls an architecture, and who reads its fields.
struct ConfigReader {
  const char* class_name;    // in "architectures"
  const char* model_type;    // in "model_type", looked at where "architectures" is absent
  const char* architecture;  // in models::architecture_table
  models::ModelConfig (*read)(const JsonObjectReader& json);
};

constexpr ConfigReader kReaders[] = {
    {"LlamaForCausalLM", "llama", "llama", read_llama_config},
    {"Qwen2MoeForCausalLM", "qwen2_moe", "qwen2_moe", read_qwen2_moe_config},
};

const ConfigReader& find_reader(const JsonObjectReader& json) {
  const bool by_class = json.has("architectures");
  const char* key = by_class || !json.has("model_type") ? "architectures" : "model_type";
  std::vector<std::string> names;
  if (by_class) {
    names = unwrap(json.required_string_array(key));
  } else if (json.has("model_type")) {
    names = {unwrap(json.required_string(key))};
  }
  std::vector<std::string_view> known;
  for (const ConfigReader& reader : kReaders) {
    const char* name =
        std::string_view(key) == "model_type" ? reader.model_type : reader.class_name;
    for (const std::string& wanted : names) {
      if (wanted == name) return reader;
    }
    known.push_back(name);
  }
  // Of a list, the first name is the one that is refused.
  const Json& value = json.has(key) ? *json.find(key) : json.json();
  if (value.is_array() && !value.items().empty()) {
    throw_error(json.item_error(value.items()[0], std::string(key) + "[0]",
                                "is not an architecture that is known", join_choices(known)));
  }
  throw_error(json.field_error(key, "names no architecture that is known", join_choices(known)));
}

DType read_dtype(const JsonObjectReader& json) {
  static constexpr std::array<std::string_view, 3> kNames = {"float32", "float16", "bfloat16"};
  static constexpr std::array<DType, 3> kTypes = {DType::kF32, DType::kF16, DType::kBF16};
  const char* key = json.has("dtype") ? "dtype" : "torch_dtype";
  if (!json.has(key)) return DType::kF32;
  const std::string name = unwrap(json.required_choice(key, kNames));
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return kTypes[i];
  }
  throw_internal("dtype " + name + " has a name but no type");
}

}  // namespace

std::vector<int32_t> read_eos(const JsonObjectReader& json) {
  constexpr int64_t kMaxToken = std::numeric_limits<int32_t>::max();
  const char* key = "eos_token_id";
  const Json* value = json.find(key);
  if (!value) return {};
  std::vector<int64_t> ids;
  if (value->is_array()) {
    ids = unwrap(json.required_int_array(key, 0, kMaxToken));
  } else if (value->is_integer()) {
    ids = {unwrap(json.required_int(key, 0, kMaxToken))};
  } else {
    throw_error(json.field_error(key, "is neither a token nor a list of tokens",
                                 "an integer, an array of integers or null"));
  }
  return {ids.begin(), ids.end()};
}

HuggingFaceConfig parse_config(std::string_view text, const std::string& source) {
  const Json json = unwrap(parse_json(text, source));
  const JsonObjectReader reader(json, source);
  unwrap(reader.check_object());
  const ConfigReader& found = find_reader(reader);
  HuggingFaceConfig config;
  config.architecture = found.architecture;
  config.model = found.read(reader);
  config.dtype = read_dtype(reader);
  config.eos = read_eos(reader);
  return config;
}

std::optional<std::vector<int32_t>> parse_generation_eos(std::string_view text,
                                                         const std::string& source) {
  const Json json = unwrap(parse_json(text, source));
  const JsonObjectReader reader(json, source);
  unwrap(reader.check_object());
  if (!json.find("eos_token_id")) return std::nullopt;
  return read_eos(reader);
}

}  // namespace tapml::frontend
