#include "models/state_space_fields.h"

#include <algorithm>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::models {

namespace {

// Far above every existing model, so that local buffers of the scan fit and products cannot
// overflow.
constexpr int64_t kMaxStateSize = 1024;
constexpr int64_t kMaxKernel = 64;
constexpr int64_t kMaxExpand = 1024;

void read_heads(const JsonObjectReader& json, const StateSpaceDefaults& defaults, int64_t inner,
                StateSpaceConfig& c, ConfigNotes& notes) {
  c.heads = int_or_default(json, defaults.heads_key, defaults.heads, 1, kMaxWidth, notes);
  const Json* field = json.find(defaults.head_dim_key);
  const bool is_automatic = field ? field->as_string() == "auto" : defaults.head_dim == 0;
  if (is_automatic && inner % c.heads != 0) {
    throw_error(json.field_error(
        json.has(defaults.heads_key) ? defaults.heads_key : "hidden_size",
        "makes " + std::to_string(c.heads) + " heads of " + std::to_string(inner) + " elements",
        "a number of heads that divides the elements"));
  }
  c.head_dim = is_automatic ? inner / c.heads
                            : int_or_default(json, defaults.head_dim_key, defaults.head_dim, 1,
                                             kMaxWidth, notes);
  if (inner == 0 || c.inner() == inner) return;
  throw_error(json.field_error(
      field ? defaults.head_dim_key : "hidden_size",
      "makes " + std::to_string(c.heads) + " heads of " + std::to_string(c.head_dim) + " elements",
      std::to_string(inner) + " elements in all heads together"));
}

// Published files have an infinity as a number of Python or, by transformers 5, as an object.
double step_limit(const JsonObjectReader& json, const char* key, const Json& item) {
  const Json* tag = item.find("__float__");
  if (tag && tag->as_string() == "Infinity") return std::numeric_limits<double>::infinity();
  if (item.is_number() && item.as_double() >= 0) return item.as_double();
  throw_error(json.item_error(item, key, "holds something else than a limit of time steps",
                              "a number of at least 0, or Infinity"));
}

void read_step_limits(const JsonObjectReader& json, const char* key, StateSpaceConfig& c) {
  if (!json.json().find(key)) return;
  const std::vector<Json>& limits = *unwrap(json.required_array(key));
  if (limits.size() != 2) {
    throw_error(json.field_error(key, "does not have two limits", "[least, largest]"));
  }
  c.least_step = step_limit(json, key, limits[0]);
  c.largest_step = step_limit(json, key, limits[1]);
  if (c.least_step <= c.largest_step && c.least_step < std::numeric_limits<double>::infinity()) {
    return;
  }
  throw_error(json.field_error(key, "has a least time step above the largest",
                               "[least, largest] in this order"));
}

struct KindName {
  std::string_view name;
  LayerKind kind;
};
constexpr KindName kKindNames[] = {{"linear_attention", LayerKind::kStateSpace},
                                   {"full_attention", LayerKind::kAttention},
                                   {"mlp", LayerKind::kFeedForward},
                                   {"moe", LayerKind::kExperts},
                                   {"hybrid", LayerKind::kHybrid},
                                   {"mamba", LayerKind::kStateSpace},
                                   {"attention", LayerKind::kAttention}};

void check_layer_count(const JsonObjectReader& json, const char* key, size_t count,
                       int64_t wanted) {
  const auto found = static_cast<int64_t>(count);
  if (wanted > 0 ? found == wanted : found >= 1 && found <= kMaxLayers) return;
  throw_error(
      json.field_error(key, "has " + std::to_string(count) + " layers",
                       wanted > 0 ? std::to_string(wanted) : "1 to " + std::to_string(kMaxLayers)));
}

std::vector<LayerKind> named_kinds(const JsonObjectReader& json, const char* key,
                                   std::string_view known, int64_t count) {
  const auto is_known = [&](const KindName& one) {
    return known.contains(static_cast<char>(one.kind));
  };
  const std::vector<std::string> names = unwrap(json.required_string_array(key));
  check_layer_count(json, key, names.size(), count);
  std::vector<LayerKind> kinds;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(kKindNames, name, &KindName::name);
    if (found == std::end(kKindNames) || !is_known(*found)) {
      std::vector<std::string_view> choices;
      for (const KindName& one : kKindNames) {
        if (is_known(one)) choices.push_back(one.name);
      }
      throw_error(json.field_error(key, "holds " + in_quotes(name), join_choices(choices)));
    }
    kinds.push_back(found->kind);
  }
  return kinds;
}

}  // namespace

std::vector<LayerKind> read_layer_kinds(const JsonObjectReader& json, std::string_view known,
                                        std::string_view fallback, int64_t count) {
  for (const char* key : {"layer_types", "layers_block_type"}) {
    if (json.has(key)) return named_kinds(json, key, known, count);
  }
  const char* key = "hybrid_override_pattern";
  const std::string pattern = unwrap(json.string_or(key, std::string(fallback)));
  check_layer_count(json, json.has(key) ? key : "layer_types", pattern.size(), count);
  if (const size_t at = pattern.find_first_not_of(known); at != std::string::npos) {
    throw_error(json.field_error(key, "holds the letter " + in_quotes(pattern.substr(at, 1)),
                                 "letters of " + in_quotes(known)));
  }
  std::vector<LayerKind> kinds;
  for (const char letter : pattern) kinds.push_back(static_cast<LayerKind>(letter));
  return kinds;
}

StateSpaceConfig read_state_space(const JsonObjectReader& json, const StateSpaceDefaults& defaults,
                                  const DecoderConfig& config, ConfigNotes& notes) {
  const int64_t expand =
      int_or_default(json, defaults.expand_key, defaults.expand, 1, kMaxExpand, notes);
  return read_state_space(json, defaults, expand * config.hidden, notes);
}

StateSpaceConfig read_state_space(const JsonObjectReader& json, const StateSpaceDefaults& defaults,
                                  int64_t inner, ConfigNotes& notes) {
  StateSpaceConfig c;
  read_heads(json, defaults, inner, c, notes);
  c.groups = int_or_default(json, defaults.groups_key, defaults.groups, 1, c.heads, notes);
  if (c.heads % c.groups != 0) {
    throw_error(json.field_error(
        json.has(defaults.groups_key) ? defaults.groups_key : defaults.heads_key,
        "gives " + std::to_string(c.groups) + " groups of " + std::to_string(c.heads) + " heads",
        "a number of groups that divides the heads"));
  }
  c.state_size =
      int_or_default(json, defaults.state_size_key, defaults.state_size, 1, kMaxStateSize, notes);
  c.convolution.kernel =
      int_or_default(json, defaults.kernel_key, defaults.kernel, 1, kMaxKernel, notes);
  const char* bias_key = defaults.convolution_bias_key;
  c.convolution.bias = !bias_key || unwrap(json.bool_or(bias_key, true));
  c.in_bias = c.out_bias = unwrap(json.bool_or(defaults.bias_key, false));
  if (defaults.steps_key) read_step_limits(json, defaults.steps_key, c);
  return c;
}

}  // namespace tapml::models
