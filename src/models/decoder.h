// The common parts of decoder-only transformers: embedding, pre-norm layers with grouped-query
// attention over a paged cache and a feed-forward part, the head, and the exported functions. An
// architecture adds its configuration and its feed-forward part.
#pragma once

#include <functional>

#include "build/block_builder.h"
#include "ir/module.h"
#include "ir/symbol.h"
#include "models/rope.h"
#include "models/weights.h"

namespace tapml::models {

struct DecoderConfig {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads
  int64_t head_dim = 0;  // even
  int64_t context = 0;   // maximum number of tokens in a sequence
  double rms_norm_epsilon = 1e-6;
  RopeConfig rope;
  bool tied_embeddings = false;  // lm_head uses the embedding's weight
  bool qkv_bias = false;         // on the projections to q, k, v
  bool output_bias = false;      // on the attention output projection
  int64_t page_size = 16;        // tokens in a page of the KV cache
};

// "model.layers.<layer>"
std::string layer_path(int64_t layer);

// Appends the weight and optional bias of a linear layer. `narrow`: its few outputs affect many
// others (a router, a gate), so it is not quantized.
void add_linear(std::vector<WeightSpec>& weights, const std::string& path, int64_t outputs,
                int64_t inputs, bool bias, bool narrow = false);

// Builder of one of prefill, decode and logits_all.
class DecoderFunction;

struct DecoderArchitecture {
  const char* name;  // ModelInterface::architecture
  // Appends the weights of a layer's feed-forward part.
  std::function<void(int64_t layer, std::vector<WeightSpec>& weights)> feed_forward_weights;
  // The feed-forward part: [b, n, hidden], in the dtype of activations, computed from the normed
  // hidden states, without the residual.
  std::function<relax::Variable(DecoderFunction& f, int64_t layer, const relax::Variable& x)>
      feed_forward;
};

// The weight parameters, in the order of the exported functions' parameters, with their Hugging
// Face names. UserError if a size overflows.
std::vector<WeightSpec> decoder_weights(const DecoderConfig& config,
                                        const DecoderArchitecture& architecture);

// The Module of architecture contract 7. Symbolic: b sequences, n new tokens, p page-table columns,
// `pages` pages in a pool.
//   prefill, logits_all (tokens i32[b, n], page_table i32[b, p], lengths i32[b],
//                        k_pool, v_pool per layer [pages, page_size, kv_heads, head_dim],
//                        weights...) -> (logits, k_pool, v_pool per layer)
//   decode: the same with n = 1
//   sample (logits f32[b, vocabulary], parameters f32[b, 2] (temperature, top-p), state i64[2])
//          -> (tokens i32[b], state): the largest logit, the lowest index among equal ones
//   draw (logits f32[b, vocabulary], parameters f64[b, 3], state i64[b, 2]) -> (tokens i32[b],
//        state): at random (models/draw.h)
// `lengths` counts the tokens in the cache before the call. The logits are those of the last token,
// f32[b, vocabulary], or of all, f32[b, n, vocabulary], in logits_all. Activations and pools have
// the dtypes of `dtypes.precision` (default: f32, or what the quantization says); weights have the
// dtypes of `dtypes`; a quantized one is two parameters (models/quantization.h). The pools are
// updated in place. Module attributes: model_interface_attrs and "bound.n", "bound.p", the most
// that n and p can be.
Module build_decoder(const DecoderConfig& config, const DecoderArchitecture& architecture,
                     const ModelDTypes& dtypes);

// The building blocks of a feed-forward part.
class DecoderFunction {
 public:
  enum class LogitsOf : uint8_t { kLastToken, kAllTokens };

  DecoderFunction(const DecoderConfig& config, const DecoderArchitecture& architecture,
                  const ModelDTypes& dtypes, const Module& module, PrimExpr tokens,
                  LogitsOf logits_of);
  relax::FunctionRef build();

  const Var& batch() const { return b_; }
  const PrimExpr& tokens() const { return n_; }
  // Sets the model layer that the following bindings come from.
  void origin(const std::string& path) { builder_.set_origin({path}); }
  relax::Variable op(const char* name, std::vector<relax::Expr> args, AttrMap attrs = {});
  // Field `index` of a tuple.
  relax::Variable field(const relax::Variable& tuple, int64_t index);
  // The weight at `path`, dequantized if necessary.
  relax::Variable weight(const std::string& path);
  // Converts to the dtype of activations a value that weights of another dtype widened.
  relax::Variable narrowed(const relax::Variable& x);
  // Says in the attributes of a linear layer's product that it accumulates in f16, if it may.
  void add_accumulation(AttrMap& attrs) const;
  // x times the transpose of the weight at `path`, plus its bias if there is one.
  relax::Variable linear(const std::string& path, const relax::Variable& x);
  // down(silu(gate(x)) * up(x)) with the three projections under `path`.
  relax::Variable gated(const std::string& path, const relax::Variable& x);

 private:
  void add_params(const ModelDTypes& dtypes);
  void add_weight(const WeightSpec& spec, const ModelDTypes& dtypes);
  relax::Variable rms_norm(const std::string& path, const relax::Variable& x);
  relax::Variable project_heads(const std::string& path, const relax::Variable& x, int64_t heads);
  relax::Variable append(relax::Expr& pool, const relax::Variable& fresh);
  relax::Variable attention(int64_t layer, const relax::Variable& x);
  relax::Variable transformer_layer(int64_t layer, relax::Variable x);
  relax::Variable logits(relax::Variable x);

  const DecoderConfig& config_;
  const DecoderArchitecture& architecture_;
  build::FunctionBuilder builder_;
  Var b_ = make_size("b");
  PrimExpr n_;
  LogitsOf logits_of_;
  DType activations_, cache_, accumulation_;
  relax::Expr inv_freq_;
  relax::Variable tokens_, page_table_, lengths_;
  std::vector<relax::Expr> pools_;                  // current k, v of layer 0, of layer 1, ...
  std::map<std::string, relax::Variable> weights_;  // by parameter
};

}  // namespace tapml::models
