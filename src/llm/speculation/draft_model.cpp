#include "llm/speculation/draft_model.h"

#include <algorithm>

#include "base/rng.h"

namespace tapml::llm {

using runtime::Tensor;

namespace {

// Another stream than that of the tokens, whose draws must not depend on these.
HostTensor draft_generator(uint64_t seed) {
  const PhiloxKey key = philox_key(seed, "draft");
  HostTensor state = HostTensor::zeros(DType::kI64, {2});
  state.mutable_values<int64_t>()[0] =
      static_cast<int64_t>(uint64_t{key[0]} | uint64_t{key[1]} << 32);
  return state;
}

Status refuse_draft(const std::string& problem, const ModelInterface& draft) {
  return fail(user_error("the draft model " + problem, "draft",
                         "a model with paged state and without a window or an encoder",
                         draft.architecture, "use another draft model, or --lookup 3"));
}

}  // namespace

Status check_draft(const Engine& draft) {
  const ModelInterface& model = draft.model();
  if (model.has_state(StateKind::kRecurrent)) {
    return refuse_draft("has recurrent state, which does not forget refused tokens", model);
  }
  if (model.paged_window() > 0) {
    return refuse_draft("has a window, and cannot go back to tokens that left it", model);
  }
  if (draft.reads_features()) return refuse_draft("needs features", model);
  return {};
}

Result<std::unique_ptr<Proposer>> DraftModel::create(Engine& draft, const ModelInterface& model) {
  TAPML_TRY(check_draft(draft));
  return std::unique_ptr<Proposer>(new DraftModel(draft, model.vocabulary));
}

size_t DraftModel::kept(std::span<const int32_t> text) const {
  const auto common = std::ranges::mismatch(read_, text).in1 - read_.begin();
  return static_cast<size_t>(std::min<int64_t>(common, std::ssize(text) - 1));
}

bool DraftModel::can_read(std::span<const int32_t> text) const {
  const int64_t vocabulary = draft_.model().vocabulary;
  return !text.empty() && std::ssize(text) <= draft_.capacity() &&
         std::ranges::all_of(text.subspan(kept(text)),
                             [&](int32_t token) { return token < vocabulary; });
}

Result<Tensor> DraftModel::read(std::span<const int32_t> text) {
  const auto rest = text.subspan(kept(text));
  draft_.rewind(std::ssize(text) - std::ssize(rest));
  read_.assign(text.begin(), text.end());
  return rest.size() == 1 ? draft_.decode(rest.front()) : draft_.prefill(rest);
}

template <class T>
Result<T> DraftModel::forget_after_error(Result<T> result) {
  if (result) return result;
  draft_.reset();
  read_.clear();
  if (result.error().kind == ErrorKind::kUser) {
    result.error().message = "the draft model: " + result.error().message;
  }
  return result;
}

Status DraftModel::begin(std::span<const int32_t> text, const SamplerOptions& sampler) {
  sampler_ = sampler;
  generator_ = draft_generator(sampler.seed);
  if (text.empty() || !can_read(text.first(text.size() - 1))) return {};
  TAPML_ASSIGN([[maybe_unused]] const Tensor ignored,
               forget_after_error(read(text.first(text.size() - 1))));
  return {};
}

Result<Proposal> DraftModel::propose(std::span<const int32_t> text, int64_t count) {
  return forget_after_error(run(text, count));
}

Result<Proposal> DraftModel::run(std::span<const int32_t> text, int64_t count) {
  // All but the last of the proposed tokens are read, too.
  count = std::min(count, draft_.capacity() - std::ssize(text) + 1);
  Proposal proposal;
  if (count < 1 || !can_read(text)) return proposal;
  TAPML_ASSIGN(Tensor logits, read(text));
  for (int64_t i = 0;;) {
    TAPML_ASSIGN(const int32_t token, choose(logits, proposal));
    // At temperature 0: the checking model's logits may be fewer.
    if (token >= vocabulary_) return proposal;
    proposal.tokens.push_back(token);
    if (++i == count) return proposal;
    TAPML_ASSIGN(logits, draft_.decode(token));
    read_.push_back(token);
  }
}

Result<int32_t> DraftModel::choose(const Tensor& logits, Proposal& proposal) {
  if (sampler_.temperature == 0) return draft_.sample(logits);
  TAPML_ASSIGN(const HostTensor row, draft_.download(logits));
  const std::span<const float> values = row.values<float>();
  const auto width = static_cast<size_t>(std::min<int64_t>(std::ssize(values), vocabulary_));
  TAPML_ASSIGN(Candidates candidates, candidates_of(values.first(width), sampler_));
  const int32_t token = candidates.take(draw_unit(generator_));
  proposal.drawn_from.push_back(std::move(candidates));
  return token;
}

}  // namespace tapml::llm
