// Weights in groups of integers: which weights of a model are quantized, in which layouts, and the
// names of their parameters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/weights.h"

namespace tapml::models {

// A layout by name: q<bits><f16 or f32>, then g<group> if groups do not have 32 elements, then m if
// they have minimums. "q4f16" is four bits with scales in f16, "q3f32g64m" three bits in groups of
// 64 with scales and minimums in f32. UserError, with `where`, for another text.
WeightLayout parse_layout(std::string_view name, const std::string& where);
// nullopt for a layout that has no name: those of files only.
std::optional<std::string> layout_name(const WeightLayout& layout);
// What the names consist of, for messages.
std::string layout_grammar();

// What --quantize and --quantize-map say: a layout for the linear layers, and others for weights by
// name.
class Quantization {
 public:
  struct Rule {
    std::string pattern;                 // of names; * stands for any characters
    std::optional<WeightLayout> layout;  // nullopt: the weight stays as it is
  };

  // "LAYOUT", "LAYOUT,PATTERN=LAYOUT,..." or "PATTERN=LAYOUT,...", where LAYOUT may be "none".
  // UserError that names --quantize.
  static QuantizationRef parse(std::string_view text);
  // Of exactly these weights.
  static QuantizationRef of_weights(const std::map<std::string, WeightLayout>& layouts);

  // As parse() reads it.
  const std::string& text() const { return text_; }
  // Of the whole model where the precision does not choose: the dtype of the scales of LAYOUT, or
  // f32.
  DType activations() const { return activations_; }
  // nullopt for a weight that is not quantized. The last rule that matches a weight's name decides;
  // rules reach what can stay quantized, the embedding and the head among them.
  std::optional<WeightLayout> layout_of(const WeightSpec& spec) const;
  // UserError for a weight whose rows do not consist of whole groups, and for a pattern that no
  // weight that can be quantized matches.
  void check(std::span<const WeightSpec> weights) const;

 private:
  std::string text_;
  DType activations_ = DType::kF32;
  std::optional<WeightLayout> linear_;
  std::vector<Rule> rules_;
};

std::string packed_name(const std::string& weight);
std::string scales_name(const std::string& weight);
std::string minimums_name(const std::string& weight);
std::string order_name(const std::string& weight);

// Names of the parameters of `weights`, in order.
std::vector<std::string> weight_parameters(std::span<const WeightSpec> weights,
                                           const ModelDTypes& dtypes);

// UserError if the inputs of linear layers are to be quantized, but none of the weights has integer
// levels.
void check_quantized_inputs(std::span<const WeightSpec> weights, const ModelDTypes& dtypes);

}  // namespace tapml::models
