// Proposes for each text of a batch the tokens that a smaller model chooses: from its own logits,
// but by the text's rules and with the draws that the model will choose with. So a text whose
// tokens are drawn at random can have several accepted ones, too, and stays what it is without a
// draft.
#pragma once

#include <memory>

#include "llm/batching/batch_proposer.h"
#include "llm/engine.h"

namespace tapml::llm {

struct BatchDraftOptions {
  int64_t cached_tokens = 0;   // that its cache holds of all texts, at least one page
  int64_t prompt_piece = 256;  // most tokens of a prompt that it reads in a call
};

// A text that its cache has no room for, and one beyond its context, has no proposals.
class BatchDraft final : public BatchProposer {
 public:
  // `draft` is used by nothing else, and outlives it. `model` checks the tokens. UserError for a
  // draft model as DraftModel::create().
  static Result<std::unique_ptr<BatchProposer>> create(Engine& draft, const ModelInterface& model,
                                                       const BatchDraftOptions& options);
  ~BatchDraft() override;

  Status propose(std::span<TextToPropose> texts) override;
  void forget(uint64_t id) override;
  int64_t pages() const override;
  int64_t used_pages() const override;

 private:
  class State;
  explicit BatchDraft(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tapml::llm
