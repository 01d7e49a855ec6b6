#include "frontend/huggingface/config.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/strings.h"
#include "base/suggest.h"
#include "frontend/quantized/methods.h"
#include "ir/exceptions.h"
#include "models/table.h"
#include "models/wrappers.h"

namespace tapml::frontend {

using models::Architecture;
using models::Wrapper;

namespace {

const Wrapper* find_wrapper(const JsonObjectReader& json) {
  const bool by_class = json.has("architectures");
  if (!by_class && !json.has("model_type")) return nullptr;
  const auto names = by_class ? unwrap(json.required_string_array("architectures"))
                              : std::vector{unwrap(json.required_string("model_type"))};
  for (const Wrapper& one : models::wrapper_table()) {
    if (std::ranges::count(names, by_class ? one.class_name : one.name) > 0) return &one;
  }
  return nullptr;
}

// transformers selects the class by model_type, so a different value there means another model.
void expect_model_type(const Architecture& reader, const JsonObjectReader& json) {
  if (!json.has("model_type")) return;
  const std::string type = unwrap(json.required_string("model_type"));
  if (type == reader.name) return;
  throw_error(json.field_error(
      "model_type",
      "does not match \"architectures\", which names " + std::string(reader.class_name),
      in_quotes(reader.name), "transformers selects the model by model_type; make the two agree"));
}

constexpr const char* kHowToAdd =
    "tapml models lists all; docs/tutorials/own-architecture.md shows how to add one";

// "one of 81 architectures, such as Qwen3ForCausalLM, ...": those of the same family, or the first.
std::string known_text(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr size_t kShown = 4;
  std::vector<std::string_view> shown = related_names(name, known, kShown);
  if (shown.empty()) shown.assign(known.begin(), known.begin() + kShown);
  return "one of " + std::to_string(known.size()) + " architectures, such as " +
         join_choices(shown);
}

const Architecture& find_reader(const JsonObjectReader& json) {
  const bool by_class = json.has("architectures");
  const char* key = by_class || !json.has("model_type") ? "architectures" : "model_type";
  std::vector<std::string> names;
  if (by_class) {
    names = unwrap(json.required_string_array(key));
  } else if (json.has("model_type")) {
    names = {unwrap(json.required_string(key))};
  }
  std::vector<std::string_view> known;
  for (const Architecture& reader : models::architecture_table()) {
    const char* name = std::string_view(key) == "model_type" ? reader.name : reader.class_name;
    for (const std::string& wanted : names) {
      if (wanted != name && wanted != reader.base_class) continue;
      expect_model_type(reader, json);
      return reader;
    }
    known.push_back(name);
  }
  if (by_class) {
    for (const Wrapper& wrapper : models::wrapper_table()) known.push_back(wrapper.class_name);
  }
  // If several are listed, the error names the first one.
  const Json& value = json.has(key) ? *json.find(key) : json.json();
  const std::string expected = known_text(names.empty() ? "" : names.front(), known);
  if (value.is_array() && !value.items().empty()) {
    Error error = json.item_error(value.items()[0], std::string(key) + "[0]",
                                  "is not a known architecture", expected);
    error.hint = kHowToAdd;
    throw_error(std::move(error));
  }
  throw_error(json.field_error(key, "names no known architecture", expected, kHowToAdd));
}

const Architecture& text_architecture(const Wrapper& wrapper, const JsonObjectReader& text) {
  const char* key = "model_type";
  if (!text.has(key)) return models::find_architecture(wrapper.text);
  std::vector<std::string_view> known;
  if (wrapper.inner_text) {
    known = {wrapper.inner_text};
  } else {
    for (const Architecture& one : models::architecture_table()) {
      if (one.read) known.push_back(one.name);
    }
  }
  const std::string name = unwrap(text.required_choice(key, known));
  return models::find_architecture(wrapper.inner_text ? wrapper.text : name);
}

// nullopt if the field is absent, null or "auto".
std::optional<DType> read_dtype_field(const JsonObjectReader& json, const char* key) {
  static constexpr std::array<std::string_view, 3> kNames = {"float32", "float16", "bfloat16"};
  static constexpr std::array<DType, 3> kTypes = {DType::kF32, DType::kF16, DType::kBF16};
  if (!json.has(key)) return std::nullopt;
  const std::string text = unwrap(json.required_string(key));
  if (text == "auto") return std::nullopt;
  std::string_view name = text;
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return kTypes[i];
  }
  throw_error(json.field_error(key, "is not a known name", join_choices(kNames)));
}

DType read_dtype(const JsonObjectReader& json, models::ConfigNotes& notes) {
  const auto dtype = read_dtype_field(json, "dtype"), older = read_dtype_field(json, "torch_dtype");
  if (dtype && older && *dtype != *older) {
    notes.warnings.push_back(
        json.source() +
        ": \"dtype\" and \"torch_dtype\" differ: the former is used, as in transformers");
  }
  return dtype.value_or(older.value_or(DType::kF32));
}

}  // namespace

std::vector<models::WeightSpec> HuggingFaceConfig::weights() const {
  return encoder ? models::encoder_weights(*encoder) : models::decoder_weights(model);
}

Module HuggingFaceConfig::module(const models::ModelDTypes& dtypes) const {
  return encoder ? models::build_encoder(*encoder, pooling, dtypes)
                 : models::build_decoder(model, dtypes);
}

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
    throw_error(json.field_error(key, "is not a token or a list of tokens",
                                 "an integer, an array of integers or null"));
  }
  return {ids.begin(), ids.end()};
}

HuggingFaceConfig parse_config(std::string_view text, const std::string& source) {
  // Published limits of time steps are infinite.
  const Json json = unwrap(parse_json(text, source, {.infinities = true}));
  const JsonObjectReader reader(json, source);
  unwrap(reader.check_object());
  const Wrapper* wrapper = find_wrapper(reader);
  const JsonObjectReader text_reader =
      wrapper ? unwrap(reader.required_object("text_config")) : reader;
  const Architecture& found =
      wrapper ? text_architecture(*wrapper, text_reader) : find_reader(reader);
  HuggingFaceConfig config;
  config.architecture = found.name;
  models::ConfigNotes notes;
  if (found.read_encoder) {
    config.encoder = found.read_encoder(text_reader, notes);
  } else {
    config.model = found.read(text_reader, notes);
  }
  // These may be beside the language model's.
  const auto holder = [&](const char* key) -> const JsonObjectReader& {
    return reader.has(key) ? reader : text_reader;
  };
  if (wrapper) {
    const char* tied = "tie_word_embeddings";
    config.model.tied_embeddings = unwrap(holder(tied).bool_or(tied, wrapper->tied));
  }
  if (wrapper && wrapper->read_images && reader.has("vision_config")) {
    if (config.model.embedding_width == 0) {
      throw_error(reader.field_error(
          "text_config",
          std::string("is of ") + found.name + ", in which embeddings of images are not supported",
          "a language model like " + in_quotes(wrapper->text)));
    }
    config.model.images = wrapper->read_images(reader, config.model, notes);
  }
  const bool has_dtype = reader.has("dtype") || reader.has("torch_dtype");
  config.dtype = read_dtype(has_dtype ? reader : text_reader, notes);
  const JsonObjectReader& eos = holder("eos_token_id");
  if (eos.json().find("eos_token_id")) {
    config.eos = read_eos(eos);
  } else if (found.end_of_text >= 0) {
    config.eos = {found.end_of_text};
  }
  config.is_quantized = !parse_config_quantization(reader).empty();
  config.defaulted = std::move(notes.defaulted);
  config.warnings = std::move(notes.warnings);
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
