// What a comparison of a model's import with its published implementation found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tapml::topdown {

// A value that the import computes, and a module of the published implementation reads or writes.
struct ImportDifference {
  std::string module;   // of the published implementation: "model.layers.0.self_attn.k_proj"
  std::string end;      // "input", "output", "cos", "sin"
  std::string meaning;  // "before the rotation": what the value is (border_meaning)
  int64_t layer = -1;   // -1: outside of the layers
  // Over all tokens: the largest difference, the most that is allowed, and the first token that
  // exceeds it.
  double max_abs = 0, bound = 0;
  int64_t token = 0;
  double published = 0, found = 0;  // the values at the largest difference
  // Another module whose output equals the found values; empty if there is none.
  std::string equals;
  // Whether the import agrees, and only the program whose kernels are formed differs: a pass of the
  // compiler changes the model.
  bool by_passes = false;
};

struct ImportCheck {
  std::string implementation;  // "transformers 5.24.0, torch 2.13.0"
  std::string model_class;     // of the implementation: "LlamaForCausalLM"
  std::string dtype;           // in which it computed: f64, or f32
  std::string compared =
      "logits";        // what is compared at the end: "logits", or an encoder's "vector"
  int64_t tokens = 0;  // of one text
  int64_t values = 0;  // hidden states that were compared, in total
  // Kernels that these tokens call, and those of which each call's specification gives a value at
  // the end of a published module.
  int64_t kernels = 0, kernels_at_ends = 0;
  // Of the logits, at the token with the largest share of its bound; of an encoder's vector.
  double max_abs = 0, bound = 0;
  // The first one in the order of the model; empty: the logits agree, also once the kernels are
  // formed.
  std::optional<ImportDifference> first;
  // Weights that the model directory lacks, and that the implementation has.
  std::vector<std::string> missing;

  bool passed() const { return !first; }
};

// "agrees with transformers 5.24.0, ...", or "differs from ...".
std::string import_text(const ImportCheck& check);
// Where it differs first, and how; empty if it agrees.
std::vector<std::string> difference_texts(const ImportCheck& check);
// The same, or that nothing but tapml vouches for the import.
std::string import_text(const std::optional<ImportCheck>& check);

// What the value at an end of a module is: "after the residual", "before the rotation"; empty where
// the module's name says it all.
std::string border_meaning(const std::string& module, const std::string& end);

}  // namespace tapml::topdown
