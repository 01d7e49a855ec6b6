// What a language model's Module exports beside its functions (architecture contract 7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi/attributes.h"
#include "base/result.h"
#include "tensor/dtype.h"
#include "tensor/host_tensor.h"

namespace tapml {

// What a parameter or a result of a model's function is. b: sequences, n: new tokens of each.
enum class Role : uint8_t {
  kTokens,          // i32[b, n]; of sample and draw the result, i32[b]
  kPositions,       // i32[b, n]: of the tokens in their sequences
  kPageTable,       // i32[b, p]: the pages of paged state
  kLengths,         // i32[b]: tokens in the state before the call
  kSlots,           // i32[b]: the sequences' rows of recurrent and fixed state
  kFeatures,        // [b, m, d]: what an encoder reads
  kFeatureLengths,  // i32[b]: how many of the m rows of features are there
  kLogits,          // f32[b, v], of logits_all f32[b, n, v]
  kParameters,      // [b, 2] or [b, 3]: of sampling
  kGenerator,       // i64[2] or i64[b, 2]: key and counter of random numbers
};
inline constexpr int kRoles = static_cast<int>(Role::kGenerator) + 1;

// "page_table"
const char* role_name(Role role);

// How state grows, and what of it a sequence has.
enum class StateKind : uint8_t {
  kPaged,      // [pages, page_size, shape...]: a row a token, in the pages of the page table
  kRecurrent,  // [slots, shape...]: a row a sequence, which every call replaces
  kFixed,      // [slots, shape...]: a row a sequence, which encode writes once
};
inline constexpr int kStateKinds = static_cast<int>(StateKind::kFixed) + 1;

const char* state_kind_name(StateKind kind);

// A tensor that a model keeps between calls: a parameter of its functions and a result in the same
// place, updated in place.
struct StateTensor {
  std::string name;  // "k_pool.0"
  StateKind kind = StateKind::kPaged;
  DType dtype = DType::kF32;
  Shape shape;         // of a row
  int64_t window = 0;  // paged: the tokens before the newest that are read; 0: all

  bool operator==(const StateTensor&) const = default;
};

// Its parameters are the inputs, then the state of the kinds that it takes, in the interface's
// order, then the weights, then what `prepare` made of them. Its results are the outputs, then the
// same state.
struct ModelFunction {
  std::string name;
  std::vector<Role> inputs, outputs;
  std::vector<StateKind> state;  // kinds, in the order of StateKind
  bool weights = false;

  bool takes(StateKind kind) const;
  bool operator==(const ModelFunction&) const = default;
};

struct ModelInterface {
  std::string architecture;  // "llama"
  int64_t vocabulary = 0;
  int64_t context = 0;     // most tokens a sequence may hold
  int64_t page_size = 16;  // tokens in a page of paged state
  std::vector<StateTensor> state;
  // prefill, decode, logits_all, sample, and optionally draw and encode. `prepare` takes weights
  // alone and is no entry.
  std::vector<ModelFunction> functions;
  // Names of the weight parameters, in the order in which every function takes them.
  std::vector<std::string> weights;

  const ModelFunction* find_function(std::string_view name) const;
  bool has_state(StateKind kind) const;
};

// A state tensor and a function as one line each, and back; UserError that shows the text.
//   "k_pool.0: paged f32[2, 32]", "keys: paged f16[8, 128] window 4096"
//   "prefill(tokens, page_table, lengths, state, weights) -> (logits, state)"
// `state` stands for all kinds; paged, recurrent and fixed for one.
std::string state_text(const StateTensor& state);
Result<StateTensor> parse_state(std::string_view text);
std::string model_function_text(const ModelFunction& function);
Result<ModelFunction> parse_model_function(std::string_view text);

// The interface as attributes of a Module ("model.*"), and back; fields that are absent keep their
// defaults. UserError for a line of state or of a function that is not as above.
AttrMap model_interface_attrs(const ModelInterface& model);
Result<ModelInterface> model_interface_of(const AttrMap& attrs);

}  // namespace tapml
