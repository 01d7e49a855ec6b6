// Proposes for each text of a batch what followed its last tokens before
// (llm/speculation/lookup.h).
#pragma once

#include <memory>

#include "llm/batching/batch_proposer.h"
#include "llm/speculation/proposer.h"

namespace tapml::llm {

class BatchLookup final : public BatchProposer {
 public:
  // As Lookup::create().
  static Result<std::unique_ptr<BatchProposer>> create(int64_t matched);

  Status propose(std::span<TextToPropose> texts) override;

 private:
  explicit BatchLookup(std::unique_ptr<Proposer> lookup) : lookup_(std::move(lookup)) {}

  std::unique_ptr<Proposer> lookup_;
};

}  // namespace tapml::llm
