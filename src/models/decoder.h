// What decoder-only transformers share: embedding, pre-norm layers of grouped-query attention over
// a paged cache and a feed-forward part, the head, and the functions that a model exports. An
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
  int64_t context = 0;   // most tokens of a sequence
  double rms_norm_epsilon = 1e-6;
  RopeConfig rope;
  bool tied_embeddings = false;  // lm_head uses the embedding's weight
  bool qkv_bias = false;         // on the projections to q, k, v
  bool output_bias = false;      // on the projection of the mixed heads
  int64_t page_size = 16;        // tokens in a page of the KV cache
};

// "model.layers.<layer>"
std::string layer_path(int64_t layer);

// Appends the weight, and the bias where there is one, of a linear map. `narrow`: of so few outputs
// that others hang on them (a router, a gate): it is not quantized.
void add_linear(std::vector<WeightSpec>& weights, const std::string& path, int64_t outputs,
                int64_t inputs, bool bias, bool narrow = false);

// One of prefill, decode and logits_all while it is built.
class DecoderFunction;

struct DecoderArchitecture {
  const char* name;  // ModelInterface::architecture
  // Appends the weights of a layer's feed-forward part.
  std::function<void(int64_t layer, std::vector<WeightSpec>& weights)> feed_forward_weights;
  // The feed-forward part: [b, n, hidden], in the dtype of activations, of the normed hidden
  // states, without the residual.
  std::function<relax::Variable(DecoderFunction& f, int64_t layer, const relax::Variable& x)>
      feed_forward;
};

// The parameters in the order in which the exported functions take them, by their Hugging Face
// names. UserError where a size overflows.
std::vector<WeightSpec> decoder_weights(const DecoderConfig& config,
                                        const DecoderArchitecture& architecture);

// The Module of architecture contract 7. Symbolic: b sequences, n new tokens, p page-table columns,
// `pages` pages in a pool.
//   prefill, logits_all (tokens i32[b, n], page_table i32[b, p], lengths i32[b],
//                        k_pool, v_pool per layer [pages, page_size, kv_heads, head_dim],
//                        weights...) -> (logits, k_pool, v_pool per layer)
//   decode: the same with n = 1
//   sample (logits f32[b, vocabulary], parameters f32[b, 2] (temperature, top-p), state i64[2])
//          -> (tokens i32[b], state): the largest logit, the lowest index of equal ones
//   draw (logits f32[b, vocabulary], parameters f64[b, 3], state i64[b, 2]) -> (tokens i32[b],
//        state): at random (models/draw.h)
// `lengths` counts the tokens in the cache before the call. The logits are those of the last token,
// f32[b, vocabulary], or of all, f32[b, n, vocabulary], in logits_all. Activations and pools have
// the dtypes of `dtypes.precision` (default: f32, or what the quantization says); weights have the dtypes of `dtypes`; a quantized one is two
// parameters (models/quantization.h). The pools are updated in place.
// Module attributes: model_interface_attrs and "bound.n", "bound.p", the most that n and p can be.
Module build_decoder(const DecoderConfig& config, const DecoderArchitecture& architecture,
                     const ModelDTypes& dtypes);

// What a feed-forward part is written with.
class DecoderFunction {
 public:
  enum class LogitsOf : uint8_t { kLastToken, kAllTokens };

  DecoderFunction(const DecoderConfig& config, const DecoderArchitecture& architecture,
                  const ModelDTypes& dtypes, const Module& module, PrimExpr tokens,
                  LogitsOf logits_of);
  relax::FunctionRef build();

  const Var& batch() const { return b_; }
  const PrimExpr& tokens() const { return n_; }
  // The model's layer that the following bindings come from.
  void origin(const std::string& path) { builder_.set_origin({path}); }
  relax::Variable op(const char* name, std::vector<relax::Expr> args, AttrMap attrs = {});
  // Field `index` of a tuple.
  relax::Variable field(const relax::Variable& tuple, int64_t index);
  // The weight at `path`; a quantized one is dequantized.
  relax::Variable weight(const std::string& path);
  // In the dtype of activations: what weights of another one made wider.
  relax::Variable narrowed(const relax::Variable& x);
  // x times the transpose of the weight at `path`, plus its bias where there is one.
  relax::Variable linear(const std::string& path, const relax::Variable& x);
  // down(silu(gate(x)) * up(x)) with the three projections below `path`.
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
  DType activations_, cache_;
  relax::Expr inv_freq_;
  relax::Variable tokens_, page_table_, lengths_;
  std::vector<relax::Expr> pools_;  // k, v of layer 0, of layer 1, ..., as they are now
  std::map<std::string, relax::Variable> weights_;  // by parameter
};

}  // namespace tapml::models
