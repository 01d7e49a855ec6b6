#include "llm/batching/batch_lookup.h"

#include "llm/speculation/lookup.h"

namespace tapml::llm {

Result<std::unique_ptr<BatchProposer>> BatchLookup::create(int64_t matched) {
  TAPML_ASSIGN(auto lookup, Lookup::create(matched));
  return std::unique_ptr<BatchProposer>(new BatchLookup(std::move(lookup)));
}

Status BatchLookup::propose(std::span<TextToPropose> texts) {
  for (TextToPropose& text : texts) {
    if (text.count < 1) continue;
    TAPML_ASSIGN(Proposal proposal, lookup_->propose(text.tokens, text.count));
    text.proposed = std::move(proposal.tokens);
  }
  return {};
}

}  // namespace tapml::llm
