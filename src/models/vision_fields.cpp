#include "models/vision_fields.h"

#include <algorithm>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::models {

namespace {

// Far above every existing encoder.
constexpr int64_t kMaxSide = 16384;
// Rows of an image, which all attend to each other.
constexpr int64_t kMaxPatches = int64_t{1} << 16;

const VisionDefaults& find_defaults(const JsonObjectReader& vision,
                                    std::span<const VisionDefaults> known) {
  if (!vision.has("model_type")) return known.front();
  std::vector<std::string_view> names;
  for (const VisionDefaults& one : known) names.emplace_back(one.name);
  const std::string name = unwrap(vision.required_choice("model_type", names));
  return *std::ranges::find(known, name, &VisionDefaults::name);
}

}  // namespace

VisionConfig read_vision(const JsonObjectReader& json, std::span<const VisionDefaults> known,
                         ConfigNotes& notes) {
  const JsonObjectReader vision = unwrap(json.required_object("vision_config"));
  const VisionDefaults& defaults = find_defaults(vision, known);
  const auto size = [&](const char* key, int64_t fallback, int64_t most) {
    return int_or_default(vision, key, fallback, 1, most, notes);
  };
  VisionConfig c;
  c.hidden = size("hidden_size", defaults.hidden, kMaxWidth);
  c.layers = size("num_hidden_layers", defaults.layers, kMaxLayers);
  c.heads = size("num_attention_heads", defaults.heads, kMaxWidth);
  check_divides(vision, "hidden_size", c.hidden, c.heads, "num_attention_heads");
  c.intermediate = size("intermediate_size", defaults.intermediate, kMaxWidth);
  c.channels = unwrap(vision.int_or("num_channels", 3, 3, 3));
  c.side = size("image_size", defaults.side, kMaxSide);
  c.patch = size("patch_size", defaults.patch, c.side);
  if (c.patches() > kMaxPatches) {
    throw_error(vision.field_error(
        "patch_size", "gives too many patches",
        "at most " + std::to_string(kMaxPatches) + " patches, not " + std::to_string(c.patches())));
  }
  c.activation = activation_or(vision, "hidden_act", defaults.activation);
  c.norm_epsilon = unwrap(vision.float_or("layer_norm_eps", defaults.norm_epsilon, 1e-12, 1));
  c.has_class = c.first_norm = defaults.is_clip;
  c.patch_bias = !defaults.is_clip;
  return c;
}

int32_t read_image_token(const JsonObjectReader& json, std::span<const char* const> keys,
                         int32_t fallback, int64_t vocabulary) {
  const auto found = std::ranges::find_if(keys, [&](const char* key) { return json.has(key); });
  const char* key = found == keys.end() ? keys.front() : *found;
  const auto token = static_cast<int32_t>(
      unwrap(json.int_or(key, fallback, 0, std::numeric_limits<int32_t>::max())));
  if (token < vocabulary) return token;
  throw_error(json.field_error(key, "is not in the vocabulary",
                               "a token below " + std::to_string(vocabulary)));
}

}  // namespace tapml::models
