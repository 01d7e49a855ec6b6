#include "llm/speculation/speculation.h"

#include <algorithm>
#include <string>

#include "base/clock.h"

namespace tapml::llm {

Status check_verifies(const ModelInterface& model) {
  if (!model.has_state(StateKind::kRecurrent)) return {};
  return fail(user_error(
      "the model cannot check proposed tokens: its recurrent state does not forget refused ones",
      "speculative decoding", "a model whose state is paged",
      model.architecture + ", which has recurrent state", "leave out --draft and --lookup"));
}

Status check_speculation_options(const SpeculationOptions& options) {
  if (options.tokens >= 1 && options.tokens <= Speculation::kMostProposed) return {};
  return fail(user_error("the number of tokens to propose is out of range", "draft_tokens",
                         "1 to " + std::to_string(Speculation::kMostProposed),
                         std::to_string(options.tokens)));
}

Result<std::unique_ptr<Speculation>> Speculation::create(std::unique_ptr<Proposer> proposer,
                                                         const SpeculationOptions& options) {
  TAPML_TRY(check_speculation_options(options));
  return std::unique_ptr<Speculation>(new Speculation(std::move(proposer), options));
}

Status Speculation::begin(std::span<const int32_t> text, const SamplerOptions& sampler) {
  counts_ = {};
  pace_ = {};
  begun_ = text_ = std::ssize(text);
  TAPML_TRY(proposer_->begin(text, sampler));
  may_stop_ = !options_.keep && (sampler.temperature == 0 || !proposer_->draws());
  return {};
}

Result<Proposal> Speculation::propose(std::span<const int32_t> text, int64_t room) {
  text_ = std::ssize(text);
  propose_seconds_ = 0;
  const int64_t count = std::min(room, options_.tokens);
  if (count < 1 || counts_.stopped_after || measures_first()) return Proposal{};
  const double start = seconds_now();
  TAPML_ASSIGN(Proposal proposal, proposer_->propose(text, count));
  propose_seconds_ = seconds_now() - start;
  counts_.propose_seconds += propose_seconds_;
  return proposal;
}

void Speculation::note_plain(double seconds) {
  ++counts_.plain_steps;
  counts_.plain_seconds += seconds;
  pace_.plain(seconds);
}

void Speculation::note_verified(double seconds, int64_t proposed, int64_t accepted,
                                int64_t chosen) {
  ++counts_.verify_steps;
  counts_.verified_tokens += chosen;
  counts_.proposed += proposed;
  counts_.accepted += accepted;
  counts_.verify_seconds += seconds;
  pace_.verified(propose_seconds_ + seconds, chosen);
  counts_.slower = pace_.is_slower();
  if (counts_.slower && may_stop_) counts_.stopped_after = text_ + chosen - begun_;
}

}  // namespace tapml::llm
