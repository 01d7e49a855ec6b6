// The reference logits of a whole model, teacher-forced on the source's tokens.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "abi/allowances.h"
#include "interp/interpreter.h"
#include "ir/module.h"
#include "llm/engine.h"
#include "op/reference.h"
#include "topdown/reference_run/model_check.h"

namespace tapml::topdown {

// The input of a run of the model: the prompt, then tokens that the source chose; or the texts of
// an encoder.
struct ForcedRun {
  std::vector<int32_t> prompt, forced;
  std::function<bool()> cancelled;  // polled between two tokens; may be empty
  llm::TextInputs inputs;
  std::vector<std::vector<int32_t>> texts;  // then there is no prompt

  // All tokens in order; -1 follows each text.
  std::vector<int32_t> tokens() const;
};

// Sets the features and embeddings of the engine's texts, if there are any.
void set_inputs(llm::Engine& engine, const llm::TextInputs& inputs);
// The same for an engine that forgets what it has read.
void reset_engine(llm::Engine& engine, const llm::TextInputs& inputs);

// The rows of f32[n, d], as f32[d] each.
std::vector<HostTensor> rows_of(const HostTensor& matrix);

// Logits of the last prompt token and of every forced token after it. Throws.
std::vector<HostTensor> forced_logits(llm::Engine& engine, const ForcedRun& run);

// The reference's logits of every token of `tokens`, or an encoder's vector of them: the whole
// model at operator level in f64.
op::RefTensor evaluate_logits(const Module& module, const ModelInterface& model,
                              const std::map<std::string, HostTensor>& weights,
                              const std::vector<int32_t>& tokens,
                              const interp::CallOptions& options = {},
                              const llm::TextInputs& inputs = {});
// The reference's vectors f32[texts, d] of an encoder's texts, each evaluated alone.
op::RefTensor evaluate_vectors(const Module& module, const ModelInterface& model,
                               const std::map<std::string, HostTensor>& weights,
                               const std::vector<std::vector<int32_t>>& texts,
                               const interp::CallOptions& options = {});
// The same as ModelRunner::outputs(), by the interpreter: `module` is the model, before or after
// passes.
std::vector<HostTensor> evaluated_outputs(const Module& module, const ModelInterface& model,
                                          const std::map<std::string, HostTensor>& weights,
                                          const ForcedRun& run, const interp::CallOptions& options);

// The reference's logits of the last tokens of a sequence, or an encoder's vectors.
struct ReferenceLogits {
  std::vector<double> rows;  // one after the other
  int64_t vocabulary = 0;    // of each
  double largest = 1;        // max(1, |logit|) over all tokens of the sequence; of vectors: max |x|
  bool vectors = false;      // of texts, whose numbers are no logits

  // From the logits of all tokens: the rows from `first` on.
  static ReferenceLogits of(const op::RefTensor& logits, size_t first);
  // Evaluates those that ModelRunner::outputs() returns of the run.
  static ReferenceLogits of(const Module& module, const ModelInterface& model,
                            const std::map<std::string, HostTensor>& weights, const ForcedRun& run,
                            const interp::CallOptions& options);
};

// Checks the logits, or the vectors, of a whole model.
class ModelReference {
 public:
  // `logits` starts at the last token of the prompt; `source`: the source's own forced_logits().
  ModelReference(ReferenceLogits logits, const std::vector<HostTensor>& source);
  // `logits` of all tokens, the first `prompt` of which are the prompt.
  ModelReference(const op::RefTensor& logits, size_t prompt, const std::vector<HostTensor>& source)
      : ModelReference(ReferenceLogits::of(logits, prompt - 1), source) {}

  // Evaluates the same logits with products in lower precision: how far they are from the reference
  // is what allowances, and accumulation in f16 where the model specifies it, add to the bounds.
  // Called once for each, only for logits that are outside the bounds without it. If the model
  // quantizes activations, the bounds always have its effect: a level that rounds to the other side
  // is a jump that the source's own error does not show.
  using Emulate = std::function<ReferenceLogits(const op::ProductRounding& products)>;
  void set_emulation(Emulate emulate, const Module& module);

  // `allowances`: of the platform that computed the logits.
  ModelCheck check(const std::vector<HostTensor>& logits, const Allowances& allowances = {}) const;
  // The difference in logits between the reference's first choice after the prompt and `token`;
  // infinite for a token outside the vocabulary.
  double margin(int32_t token) const;
  // Of every position, first that after the prompt.
  std::vector<TokenMargin> margins() const;
  // Of the first position.
  double bound() const { return bounds_.empty() ? kAlways : bounds_.front().largest; }

 private:
  const double* row(size_t i) const {
    return logits_.rows.data() + static_cast<int64_t>(i) * logits_.vocabulary;
  }
  // Between the logits of position i and the reference's.
  struct Distance {
    double largest = 0, rms = 0;  // over the vocabulary
  };
  using Bounds = std::vector<Distance>;  // by position
  ModelCheck check_within(const Bounds& bounds, const std::vector<HostTensor>& logits) const;
  // Adds what is known of tokens: which ones their logits prefer, and by how much.
  void compare_tokens(const Bounds& bounds, const std::vector<HostTensor>& logits,
                      ModelCheck& result) const;
  // 1 - cosine of the vector and the reference's; 2 if it is not finite.
  double cosine_distance(const HostTensor& vector, size_t i) const;
  const Bounds& bounds_with(const Allowances& allowances) const;
  Distance distance(const HostTensor& logits, size_t i) const;
  // Of max(1, |logit|), or of a vector's largest number: allowed whatever the source's error is.
  static constexpr double kAlways = 1e-4;

  ReferenceLogits logits_;
  int64_t vocabulary_;
  double source_error_ = 0;
  Bounds bounds_;
  Emulate emulate_;
  bool specified_ = false;
  mutable std::map<std::string, Bounds> wider_;  // by allowances_text()
};

}  // namespace tapml::topdown
