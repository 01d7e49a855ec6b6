#include "llm/speculation/verification.h"

#include <algorithm>

namespace tapml::llm {

bool Engine::Verification::chooses_in_model() const {
  if (!state_.samples_in_model || state_.sampler.temperature > 0) return false;
  if (options_.constrain || options_.keep_logits) return false;
  const auto taken =
      InputOfText::find(state_.vm->executable(), state_.function("sample"), Role::kLogits);
  return !taken || !taken->constant_texts();
}

Status Engine::Verification::check(std::span<const int32_t> tokens) {
  Sequence* const own = &state_.own;
  TAPML_TRY(state_.check_tokens(*own, tokens));
  state_.plan({&own, 1}, std::ssize(tokens));
  length_ = own->size();
  TAPML_ASSIGN(logits_, state_.step("logits_all", {&own, 1}, tokens));
  if (!chooses_in_model()) {
    TAPML_TRY(state_.read_generator());
    TAPML_ASSIGN(rows_, state_.bytes_of(logits_));
    return {};
  }
  runtime::Tensor rows = logits_;
  rows.shape = {std::ssize(tokens), state_.model.vocabulary};
  TAPML_ASSIGN(tokens_, state_.most_likely(rows));
  return {};
}

Result<int32_t> Engine::Verification::choose(int64_t row, const Proposal& proposal) {
  const auto at = static_cast<size_t>(row);
  if (tokens_.size() > 0) return tokens_.values<int32_t>()[at];
  const auto width = static_cast<size_t>(state_.model.vocabulary);
  const auto logits = rows_.values<float>().subspan(at * width, width);
  if (options_.keep_logits) {
    kept_.append(HostTensor::from(DType::kF32, {1, state_.model.vocabulary}, logits));
  }
  if (at >= proposal.drawn_from.size()) return state_.take_token(logits, options_.constrain);
  const State::Drawn drawn{proposal.tokens[at], proposal.drawn_from[at]};
  return state_.take_token(logits, options_.constrain, &drawn);
}

Error Engine::Verification::not_finite(int64_t row) {
  Result<HostTensor> rows = state_.bytes_of(logits_);
  if (!rows) return rows.error();
  const auto width = static_cast<size_t>(state_.model.vocabulary);
  return state_.not_finite(rows->values<float>().subspan(static_cast<size_t>(row) * width, width),
                           &state_.own, length_ + row);
}

Result<bool> Engine::Verification::run(int32_t last, const Proposal& proposal,
                                       std::vector<int32_t>& chosen) {
  std::vector<int32_t> tokens = {last};
  tokens.insert(tokens.end(), proposal.tokens.begin(), proposal.tokens.end());
  TAPML_TRY(check(tokens));
  bool more = true;
  for (int64_t row = 0;; ++row) {
    TAPML_ASSIGN(const int32_t token, choose(row, proposal));
    if (token < 0) {
      if (!options_.not_finite_ends) return fail(not_finite(row));
      text_.end_not_finite();
      more = false;
    } else {
      chosen.push_back(token);
      const int64_t read = length_ + row + 1;
      more = text_.accept(token, read >= engine_.capacity());
    }
    const bool is_accepted =
        row < std::ssize(proposal.tokens) && token == proposal.tokens[static_cast<size_t>(row)];
    if (more && is_accepted) continue;
    engine_.rewind(length_ + row + 1);
    break;
  }
  if (state_.sampler.temperature > 0) TAPML_TRY(state_.write_generator());
  return more;
}

}  // namespace tapml::llm
