// Speculative decoding: a proposer guesses the next tokens of a text, and the model checks all of
// them in one call (its `logits_all`), which costs about as much as one token where reading the
// weights takes most of the time.
//
//  - At temperature 0, and wherever proposed tokens are not drawn at random, each token is chosen
//    from the model's logits exactly as without speculation, and a proposed token is accepted if it
//    is the chosen one. The text is the one of plain decoding, up to the rounding of calls with
//    several tokens.
//  - Tokens that were drawn at random are accepted by the rule of llm/speculation/accept.h. The
//    text has the distribution of plain decoding, but another one for the same seed.
//
// Where it measures slower than plain decoding, it turns itself off for the rest of the text. In
// the second case it does not, because a text must depend on nothing but its seed.
#pragma once

#include <memory>

#include "abi/model_interface.h"
#include "llm/speculation/counts.h"
#include "llm/speculation/pace.h"
#include "llm/speculation/proposer.h"

namespace tapml::llm {

struct SpeculationOptions {
  int64_t tokens = 4;  // that are proposed at once, 1 to kMostProposed
  // Neither measures plain steps nor turns itself off.
  bool keep = false;

  bool operator==(const SpeculationOptions&) const = default;
};

// UserError for a model whose state cannot forget tokens: recurrent state.
Status check_verifies(const ModelInterface& model);

// UserError for options out of range.
Status check_speculation_options(const SpeculationOptions& options);

// Of one text at a time. Not thread-safe.
class Speculation {
 public:
  static constexpr int64_t kMostProposed = 64;

  // UserError for options out of range.
  static Result<std::unique_ptr<Speculation>> create(std::unique_ptr<Proposer> proposer,
                                                     const SpeculationOptions& options = {});

  // Begins with a text, whose tokens are chosen with these options.
  Status begin(std::span<const int32_t> text, const SamplerOptions& sampler);
  // What may follow the text, at most `room` tokens; none: the next step is a plain one.
  Result<Proposal> propose(std::span<const int32_t> text, int64_t room);
  // The step after propose() took so long with what was proposed, or without.
  void note_plain(double seconds);
  void note_verified(double seconds, int64_t proposed, int64_t accepted, int64_t chosen);

  const SpeculationCounts& counts() const { return counts_; }

 private:
  Speculation(std::unique_ptr<Proposer> proposer, const SpeculationOptions& options)
      : proposer_(std::move(proposer)), options_(options) {}
  bool measures_first() const { return !options_.keep && !pace_.knows_plain(); }

  std::unique_ptr<Proposer> proposer_;
  SpeculationOptions options_;
  SpeculationCounts counts_;
  Pace pace_;
  bool may_stop_ = true;
  int64_t begun_ = 0;           // tokens of the text at its begin
  int64_t text_ = 0;            // tokens at the last propose()
  double propose_seconds_ = 0;  // of the last propose()
};

}  // namespace tapml::llm
