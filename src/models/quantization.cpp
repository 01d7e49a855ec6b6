#include "models/quantization.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

#include "base/glob.h"
#include "base/strings.h"
#include "ir/exceptions.h"
#include "tensor/packed_levels.h"

namespace tapml::models {

namespace {

constexpr int64_t kDefaultGroup = 32;
constexpr std::array<int64_t, 6> kBits = {2, 3, 4, 5, 6, 8};
constexpr std::array<int64_t, 3> kGroups = {32, 64, 128};
constexpr size_t kNamesShown = 4;
constexpr std::string_view kNone = "none", kOption = "--quantize";

// Reads a number that `text` begins with, and removes it.
std::optional<int64_t> take_number(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool is_one_of(std::span<const int64_t> choices, const std::optional<int64_t>& number) {
  return number && std::ranges::find(choices, *number) != choices.end();
}

std::optional<WeightLayout> find_layout(std::string_view name) {
  WeightLayout layout{.group = kDefaultGroup};
  if (!take(name, "q")) return std::nullopt;
  const auto bits = take_number(name);
  if (!is_one_of(kBits, bits)) return std::nullopt;
  layout.bits = *bits;
  if (take(name, "f16")) {
    layout.scales = DType::kF16;
  } else if (!take(name, "f32")) {
    return std::nullopt;
  }
  if (take(name, "g")) {
    const auto group = take_number(name);
    if (!is_one_of(kGroups, group)) return std::nullopt;
    layout.group = *group;
  }
  layout.has_minimums = take(name, "m");
  return name.empty() ? std::optional(layout) : std::nullopt;
}

std::optional<WeightLayout> parse_choice(std::string_view name) {
  if (name == kNone) return std::nullopt;
  return parse_layout(name, std::string(kOption));
}

bool can_be_quantized(const WeightSpec& spec) {
  return (spec.linear || spec.expands) && !spec.transposed && spec.shape.size() >= 2;
}

}  // namespace

std::string layout_grammar() {
  return "q2 to q6 or q8, then f16 or f32, then g64 or g128 for larger groups, m for minimums";
}

WeightLayout parse_layout(std::string_view name, const std::string& where) {
  if (const auto layout = find_layout(name)) return *layout;
  throw_user("unknown layout of quantized weights", where,
             "a name such as q4f32, q4f16 or q3f16g64m: " + layout_grammar(), in_quotes(name));
}

std::optional<std::string> layout_name(const WeightLayout& layout) {
  std::string name = "q" + std::to_string(layout.bits);
  name += layout.scales == DType::kF16 ? "f16" : "f32";
  if (layout.group != kDefaultGroup) name += "g" + std::to_string(layout.group);
  if (layout.has_minimums) name += "m";
  const auto named = find_layout(name);
  return named && *named == layout ? std::optional(name) : std::nullopt;
}

QuantizationRef Quantization::parse(std::string_view text) {
  Quantization result;
  result.text_ = text;
  bool is_first = true, has_layout = false;
  for (const auto range : std::views::split(text, ',')) {
    const std::string part(range.begin(), range.end());
    const size_t sign = part.find('=');
    std::optional<WeightLayout> layout;
    if (sign != std::string::npos) {
      if (sign == 0) {
        throw_user("a rule of the quantization has no pattern", std::string(kOption),
                   "PATTERN=LAYOUT", in_quotes(part));
      }
      layout = parse_choice(std::string_view(part).substr(sign + 1));
      result.rules_.push_back({part.substr(0, sign), layout});
    } else if (is_first) {
      result.linear_ = layout = parse_choice(part);
      if (layout) result.activations_ = layout->scales;
    } else {
      throw_user("a quantization has two layouts without a pattern", std::string(kOption),
                 "LAYOUT,PATTERN=LAYOUT,...", in_quotes(part));
    }
    is_first = false;
    has_layout |= layout.has_value();
  }
  if (!has_layout) {
    throw_user("the quantization leaves all weights as they are", std::string(kOption),
               "a layout: " + layout_grammar(), in_quotes(text));
  }
  return std::make_shared<const Quantization>(std::move(result));
}

QuantizationRef Quantization::of_weights(const std::map<std::string, WeightLayout>& layouts) {
  Quantization result;
  for (const auto& [name, layout] : layouts) result.rules_.push_back({name, layout});
  return std::make_shared<const Quantization>(std::move(result));
}

std::optional<WeightLayout> Quantization::layout_of(const WeightSpec& spec) const {
  if (!can_be_quantized(spec)) return std::nullopt;
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (glob_matches(rule->pattern, spec.name)) return rule->layout;
  }
  return spec.linear ? linear_ : std::nullopt;
}

void Quantization::check(std::span<const WeightSpec> weights) const {
  for (const Rule& rule : rules_) {
    const bool matches = std::ranges::any_of(weights, [&](const WeightSpec& weight) {
      return can_be_quantized(weight) && glob_matches(rule.pattern, weight.name);
    });
    if (matches) continue;
    std::vector<std::string> known;
    for (const WeightSpec& weight : weights) {
      if (can_be_quantized(weight) && known.size() < kNamesShown) known.push_back(weight.name);
    }
    throw_user(
        "the pattern " + in_quotes(rule.pattern) + " matches no weight that can be quantized",
        std::string(kOption), "names such as " + join(known), "no match",
        "* stands for any characters");
  }
  for (const WeightSpec& weight : weights) {
    const auto layout = layout_of(weight);
    if (!layout) continue;
    const int64_t row = weight.shape.back();
    if (row % layout->group == 0) continue;
    throw_user(
        "weight " + weight.name + " cannot be quantized: its rows do not consist of whole groups",
        std::string(kOption), "rows of a multiple of " + std::to_string(layout->group),
        shape_to_string(weight.shape),
        "leave the weight as it is: --quantize-map " + weight.name + "=none");
  }
}

std::string packed_name(const std::string& weight) { return weight + ".packed"; }
std::string scales_name(const std::string& weight) { return weight + ".scales"; }
std::string minimums_name(const std::string& weight) { return weight + ".minimums"; }
std::string order_name(const std::string& weight) { return weight + ".order"; }

std::vector<std::string> weight_parameters(std::span<const WeightSpec> weights,
                                           const ModelDTypes& dtypes) {
  std::vector<std::string> names;
  for (const WeightSpec& spec : weights) {
    if (const auto layout = dtypes.layout_of(spec)) {
      names.push_back(packed_name(spec.name));
      names.push_back(scales_name(spec.name));
      if (layout->has_minimums) names.push_back(minimums_name(spec.name));
      if (layout->has_order) names.push_back(order_name(spec.name));
    } else {
      names.push_back(spec.name);
    }
  }
  return names;
}

void check_quantized_inputs(std::span<const WeightSpec> weights, const ModelDTypes& dtypes) {
  if (!dtypes.precision.requires_quantized_inputs) return;
  for (const WeightSpec& weight : weights) {
    const auto layout = dtypes.layout_of(weight);
    if (layout && layout->has_levels()) return;
  }
  throw_user("activations are quantized only where they are multiplied with integer weights",
             "--quantize-activations", "a model with quantized weights", "no such weights",
             "add --quantize q4f32");
}

std::optional<WeightLayout> ModelDTypes::layout_of(const WeightSpec& spec) const {
  if (const auto stored = layouts.find(spec.name); stored != layouts.end()) return stored->second;
  return quantization ? quantization->layout_of(spec) : std::nullopt;
}

DType ModelDTypes::activations() const {
  return precision.activations.value_or(quantization ? quantization->activations() : DType::kF32);
}

DType ModelDTypes::accumulation() const {
  const DType dtype = precision.accumulation.value_or(DType::kF32);
  if (dtype == DType::kF16 && activations() != DType::kF16) {
    throw_user("a model accumulates in f16 only with activations in f16", "--accumulation",
               "activations f16", std::string("activations ") + dtype_name(activations()),
               "add --activations f16");
  }
  return dtype;
}

}  // namespace tapml::models
