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

// Roles of parameters and results of a model's functions. b: sequences, n: new tokens of each.
enum class Role : uint8_t {
  kTokens,          // i32[b, n]; as the result of sample and draw i32[b]
  kPositions,       // i32[b, n]: positions of the tokens in their sequences
  kPageTable,       // i32[b, p]: the pages of paged state
  kLengths,         // i32[b]: tokens in the state before the call
  kSlots,           // i32[b]: the sequences' rows of recurrent and fixed state
  kFeatures,        // [b, m, d]: the input of an encoder
  kFeatureLengths,  // i32[b]: number of valid rows of features, or of valid tokens of embed
  kLogits,          // f32[b, v], or f32[b, n, v] of logits_all
  kParameters,      // [b, 2] or [b, 3]: sampling parameters
  kGenerator,       // i64[2] or i64[b, 2]: key and counter of the random numbers
  kEmbeddings,      // [b, m, d]: embeddings in place of tokens' own; as embed's result f32[b, d]
  kPlacement,       // i32[b, n]: the row of embeddings of each token, or -1
  kPixels,          // f32[b, channels, height, width]: an image that is prepared for the model
  kTextLengths,     // i32[b]: tokens of each text after the prompt or token that is being read
};
inline constexpr int kRoles = static_cast<int>(Role::kTextLengths) + 1;

// "page_table"
const char* role_name(Role role);

// How state grows, and which part of it belongs to a sequence.
enum class StateKind : uint8_t {
  kPaged,      // [pages, page_size, shape...]: a row per token, in the pages of the page table
  kRecurrent,  // [slots, shape...]: a row per sequence, which every call replaces
  kFixed,      // [slots, shape...]: a row per sequence, which encode writes once
};
inline constexpr int kStateKinds = static_cast<int>(StateKind::kFixed) + 1;

const char* state_kind_name(StateKind kind);

// A tensor that a model keeps between calls: a parameter of its functions and a result at the same
// position, updated in place.
struct StateTensor {
  std::string name;  // "k_pool.0"
  StateKind kind = StateKind::kPaged;
  DType dtype = DType::kF32;
  Shape shape;         // of a row
  int64_t window = 0;  // paged: a call reads this many tokens before its own; 0: all

  bool operator==(const StateTensor&) const = default;
};

// Its parameters are the inputs, then the state of the kinds that it takes, in the interface's
// order, then the weights, then the results of `prepare`. Its results are the outputs, then the
// same state.
struct ModelFunction {
  std::string name;
  std::vector<Role> inputs, outputs;
  std::vector<StateKind> state;  // kinds, in the order of StateKind
  bool weights = false;

  bool takes(StateKind kind) const;
  bool takes(Role input) const;
  bool operator==(const ModelFunction&) const = default;
};

// How images enter the texts of a model whose function `embed_image` makes embeddings of them.
struct ImageInput {
  int32_t token = 0;  // stands for one embedding of an image
  int64_t rows = 0;   // embeddings of an image
  // Stands for an image in a prompt; empty: the text of `token`.
  std::string placeholder;
  // Text around an image's tokens.
  std::string before, after;
  // Of images that may also be cut into tiles, which come first, row by row: the text before the
  // tokens of a tile, in which {row} and {column} are its numbers from 1 on, and the text after
  // each row, and after all of them.
  std::string tile, after_row, after_tiles;

  bool operator==(const ImageInput&) const = default;
};

struct ModelInterface {
  std::string architecture;  // "llama"
  int64_t vocabulary = 0;
  int64_t context = 0;     // maximum tokens per sequence
  int64_t page_size = 16;  // tokens in a page of paged state
  // Texts of at most this many tokens have other state than longer ones: the engine reads a text
  // that grows above it again from its start. 0: all have the same.
  int64_t short_text = 0;
  std::vector<StateTensor> state;
  // prefill, decode, logits_all, sample, and optionally draw, encode and embed_image; of an encoder
  // only embed. `prepare` takes only weights and is not an entry.
  std::vector<ModelFunction> functions;
  // Names of the weight parameters, in the order of every function's parameters.
  std::vector<std::string> weights;
  std::optional<ImageInput> image;  // of models that read images

  const ModelFunction* find_function(std::string_view name) const;
  bool has_state(StateKind kind) const;
  // The number of newest tokens that a call reads of paged state; 0: all of them.
  int64_t paged_window() const;
  bool operator==(const ModelInterface&) const = default;
};

// Converts a state tensor and a function to one line each, and back; UserError that shows the text.
//   "k_pool.0: paged f32[2, 32]", "keys: paged f16[8, 128] window 4096"
//   "prefill(tokens, page_table, lengths, state, weights) -> (logits, state)"
// `state` stands for all kinds; paged, recurrent and fixed for one.
std::string state_text(const StateTensor& state);
Result<StateTensor> parse_state(std::string_view text);
std::string model_function_text(const ModelFunction& function);
Result<ModelFunction> parse_model_function(std::string_view text);

// Converts the interface to attributes of a Module ("model.*"), and back; absent fields keep their
// defaults. UserError for a malformed line of state or of a function.
AttrMap model_interface_attrs(const ModelInterface& model);
Result<ModelInterface> model_interface_of(const AttrMap& attrs);

}  // namespace tapml
