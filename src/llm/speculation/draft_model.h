// Proposes the tokens that a smaller model generates.
#pragma once

#include <memory>
#include <vector>

#include "llm/engine.h"
#include "llm/speculation/proposer.h"

namespace tapml::llm {

// UserError for a draft model that has recurrent state or a window, because it would read the text
// again for each refused token, and for one that needs features.
Status check_draft(const Engine& draft);

// At temperature 0 the draft model's most likely tokens, otherwise tokens that it draws with the
// text's options, from the stream "draft" of the seed.
class DraftModel final : public Proposer {
 public:
  // `draft` is used by nothing else, and outlives it. `model` checks the tokens. UserError as
  // check_draft().
  static Result<std::unique_ptr<Proposer>> create(Engine& draft, const ModelInterface& model);

  // Reads the text but for its last token. The tokens that it has in common with the last text are
  // not read again.
  Status begin(std::span<const int32_t> text, const SamplerOptions& sampler) override;
  bool draws() const override { return true; }
  // Fewer where the draft model's context ends, none for a text with a token that it does not have.
  Result<Proposal> propose(std::span<const int32_t> text, int64_t count) override;

 private:
  DraftModel(Engine& draft, int64_t vocabulary) : draft_(draft), vocabulary_(vocabulary) {}
  Result<Proposal> run(std::span<const int32_t> text, int64_t count);
  // How many tokens of the text are in the draft model's cache and need not be read. At least one
  // is read, for its logits.
  size_t kept(std::span<const int32_t> text) const;
  bool can_read(std::span<const int32_t> text) const;
  // Makes the draft model's cache hold `text`; returns the logits of its last token.
  Result<runtime::Tensor> read(std::span<const int32_t> text);
  Result<int32_t> choose(const runtime::Tensor& logits, Proposal& proposal);
  template <class T>
  Result<T> forget_after_error(Result<T> result);

  Engine& draft_;
  int64_t vocabulary_;         // of the model that checks
  std::vector<int32_t> read_;  // the tokens in the draft model's cache
  SamplerOptions sampler_;
  HostTensor generator_;
};

}  // namespace tapml::llm
