// Builds one exported function of a decoder, or of an encoder. Blocks (models/blocks/) emit their
// operators into it and ask it for the weights and the state that they need; the first function
// that is built says so which parameters all of them have.
#pragma once

#include <map>
#include <source_location>
#include <string>
#include <vector>

#include "abi/model_interface.h"
#include "build/block_builder.h"
#include "ir/module.h"
#include "ir/symbol.h"
#include "models/weights.h"

namespace tapml::models {

// Bindings of the module of the published implementation at `path`, emitted by the line that calls.
Origin origin_at(const std::string& path,
                 const std::source_location& line = std::source_location::current());

// What the blocks of a model ask for, in the order of their first use.
struct GraphParameters {
  std::vector<WeightSpec> weights;
  std::vector<StateTensor> state;

  bool has_state(StateKind kind) const;
};

// What an encoder reads of one sequence.
struct FeatureShape {
  Shape shape;
};

// Embeddings that a function takes in place of tokens' own, and what a text has of images.
struct PlacedInputs {
  int64_t width = 0;  // of a row; 0: the function takes none
  // Tokens with an embedding that follow one another, those of an image, see each other.
  bool both_ways = false;
  // Rows and columns of an image's embeddings, where positions count these; 0: an embedding has the
  // position of its token.
  int64_t grid = 0;
};

// Inputs of a decoder's function beside its tokens and what its state needs.
struct GraphInputs {
  PlacedInputs placed = {};
  bool text_lengths = false;
};

// Bindings carry the line of the block that emits them, which functions get as their last
// parameter.
class Graph {
 public:
  using Line = std::source_location;

  // Sequences b and `tokens` new tokens of each. With `known` parameters the function has exactly
  // these, and the inputs that their state needs; asking for others is an InternalError. Without,
  // it gets them as blocks ask.
  Graph(const Module& module, const ModelDTypes& dtypes, PrimExpr tokens, int64_t page_size,
        const GraphParameters* known, const GraphInputs& inputs = {});
  // A function of images f32[b, channels, height, width] alone, without tokens and state. Its
  // weights are never quantized: they are few, and outliers of a vision encoder are large.
  Graph(const Module& module, const ModelDTypes& dtypes, const Shape& image,
        const GraphParameters* known);
  // A function of features f32[b, ...] alone, without tokens, which fills the fixed state of
  // `slots`.
  Graph(const Module& module, const ModelDTypes& dtypes, const FeatureShape& features,
        const GraphParameters* known);
  // Of an encoder, which keeps no state: b texts of at most n tokens each, the first valid_counts()
  // of which are valid. `known` as above.
  Graph(const Module& module, const ModelDTypes& dtypes, const GraphParameters* known);
  // The function with this result before its state; null: with its state alone.
  relax::FunctionRef finish(const relax::Variable& result);
  const GraphParameters& parameters() const { return parameters_; }

  const Var& batch() const { return b_; }
  const PrimExpr& tokens() const { return n_; }
  const relax::Variable& token_ids() const { return token_ids_; }    // i32[b, n]
  const relax::Variable& page_table() const { return page_table_; }  // i32[b, p]
  // Tokens in the state before the call, i32[b]; zeros for an encoder.
  const relax::Variable& lengths() const { return lengths_; }
  // Tokens of each text after what is being read (ModelInterface::short_text), i32[b]; null in a
  // function that does not take them.
  const relax::Variable& text_lengths() const { return text_lengths_; }
  const relax::Variable& valid_counts() const { return valid_counts_; }  // i32[b]; encoders only
  // The sequences' rows of recurrent and fixed state: i32[b].
  const relax::Variable& slots() const { return slots_; }
  // Embeddings f32[b, m, width] that take the place of tokens' own, and the row of each token, or
  // -1: i32[b, n]. Null in a function that takes none.
  const relax::Variable& embeddings() const { return embeddings_; }
  const relax::Variable& placement() const { return placement_; }
  const PlacedInputs& placed() const { return placed_; }
  const relax::Variable& pixels() const { return pixels_; }
  const relax::Variable& features() const { return features_; }
  // Positions of the tokens in their sequences: i32[b, n].
  relax::Variable positions();
  // The number of tokens after each that it sees: i32[b, n], of a token with an embedding the rest
  // of those that follow one another, else 0. Null where tokens see only those before them.
  relax::Variable ahead();
  // 0, 1, ... for the tokens of a call, i32 in a shape of n elements.
  relax::Variable token_numbers(Dims shape, const Line& line = Line::current());
  DType activations() const { return activations_; }
  DType cache() const { return cache_; }

  // Sets the module of the published implementation that the following bindings belong to.
  void origin(const std::string& path) { origin_ = {path}; }
  relax::Variable op(const char* name, std::vector<relax::Expr> args, AttrMap attrs = {},
                     const Line& line = Line::current());
  relax::Variable add(const relax::Expr& x, const relax::Expr& y,
                      const Line& line = Line::current()) {
    return op("add", {x, y}, {}, line);
  }
  // A scalar constant.
  static relax::Expr number(double value, DType dtype);
  // A vector of f32, the same constant for the same values.
  relax::Expr constant(const std::vector<float>& values);
  // x times a number; x itself for 1.
  relax::Variable scaled(const relax::Variable& x, double factor,
                         const Line& line = Line::current());
  // Field `index` of a tuple.
  relax::Variable field(const relax::Variable& tuple, int64_t index,
                        const Line& line = Line::current());
  // The last dimension of a tensor, which is constant.
  static int64_t width(const relax::Variable& x);
  // A weight, dequantized if necessary. UserError if its size overflows.
  relax::Variable weight(const WeightSpec& spec, const Line& line = Line::current());
  // The elements of x[..., k] in the order of a weight's columns: x itself, unless files have
  // quantized the columns in another order.
  relax::Variable ordered(const relax::Variable& x, const WeightSpec& spec,
                          const Line& line = Line::current());
  // x[..., k] in eight bits in the groups of a quantized weight, and expanded again, which fusion
  // does in the product: x itself if the precision does not say so, or if the weight has no integer
  // levels.
  relax::Variable quantized(const relax::Variable& x, const WeightSpec& spec,
                            const Line& line = Line::current());
  // Whether weight() gives [..., outputs, inputs] of a matrix that is not WeightSpec::transposed,
  // or is quantized.
  bool has_outputs_first(const WeightSpec& spec) const;
  // The weight as the files have it, never quantized.
  relax::Variable stored_weight(const WeightSpec& spec);
  // Current value of a state tensor. Paged and fixed state get the cache's dtype.
  relax::Expr& state(StateTensor state);
  // Binds an update in place of state to a result of the function.
  relax::Variable update(const char* name, std::vector<relax::Expr> args,
                         const Line& line = Line::current());
  // Calls a tensor program of the model (DecoderModel::programs). Its last argument is state, which
  // it updates in place; it has one result besides.
  relax::Variable call_program(const char* name, std::vector<relax::Expr> args, relax::Expr& state,
                               relax::Annotation result, const Line& line = Line::current());
  // Converts to f32, and to the dtype of activations.
  relax::Variable widened(const relax::Variable& x, const Line& line = Line::current());
  // Converts to the dtype of activations a value that weights of another dtype widened.
  relax::Variable narrowed(const relax::Variable& x, const Line& line = Line::current());
  // Says in the attributes of a linear layer's product that it accumulates in f16, if it may.
  void add_accumulation(AttrMap& attrs) const;
  // The function's first result, in f32; `label` names its variable.
  relax::Variable result(const char* name, std::vector<relax::Expr> args, AttrMap attrs = {},
                         const char* label = "logits", const Line& line = Line::current());

 private:
  Graph(const Module& module, const ModelDTypes& dtypes, PrimExpr tokens, int64_t page_size,
        bool is_known);
  // Without inputs.
  Graph(const Module& module, const ModelDTypes& dtypes, bool is_known);
  void declare(const WeightSpec& spec);
  void declare(const StateTensor& state);
  // The builder, whose next bindings come from the line.
  build::FunctionBuilder& at(const Line& line);

  build::FunctionBuilder builder_;
  Origin origin_;
  const ModelDTypes& dtypes_;
  Var b_ = make_size("b"), p_ = make_size("p"), pages_ = make_size("pages");
  Var rows_ = make_size("slots");
  PrimExpr n_;
  int64_t page_size_;
  bool is_known_;
  DType activations_, cache_, accumulation_;
  relax::Variable token_ids_, page_table_, lengths_, text_lengths_, valid_counts_, slots_;
  relax::Variable positions_;
  relax::Variable embeddings_, placement_, ahead_, pixels_, features_;
  PlacedInputs placed_;
  GraphParameters parameters_;
  std::map<std::string, relax::Expr> pools_;
  std::map<std::vector<float>, relax::Expr> constants_;
  std::map<std::string, relax::Variable> weights_;  // by parameter
};

// x + y as a binding of the module at `path`: what a layer adds to its input.
inline relax::Variable residual(Graph& g, const std::string& path, const relax::Variable& x,
                                const relax::Variable& y,
                                const Graph::Line& line = Graph::Line::current()) {
  g.origin(path);
  return g.add(x, y, line);
}

}  // namespace tapml::models
