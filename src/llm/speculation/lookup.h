// Proposes what followed the last tokens of a text where they stood before in it (prompt lookup).
#pragma once

#include <memory>

#include "llm/speculation/proposer.h"

namespace tapml::llm {

class Lookup final : public Proposer {
 public:
  // `matched`: how many of the last tokens must stand there. UserError if it is not 1 to 64.
  static Result<std::unique_ptr<Proposer>> create(int64_t matched);

  Status begin(std::span<const int32_t>, const SamplerOptions&) override { return {}; }
  // From the last such place; none if there is none.
  Result<Proposal> propose(std::span<const int32_t> text, int64_t count) override;

 private:
  explicit Lookup(int64_t matched) : matched_(matched) {}

  int64_t matched_;
};

}  // namespace tapml::llm
