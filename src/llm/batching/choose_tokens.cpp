#include "llm/batching/choose_tokens.h"

#include <algorithm>

namespace tapml::llm {

using runtime::Tensor;

bool needs_host(const RowToChoose& row) {
  return row.top_probabilities >= 0 || !row.rules->is_empty() || (row.constrain && *row.constrain);
}

namespace {

// `draw` has no temperature of 0: the most likely token is the only one of top-k 1.
SamplerOptions drawn_options(const SamplerOptions& options) {
  return options.temperature > 0 ? options : SamplerOptions{.temperature = 1, .top_k = 1};
}

Result<ChosenToken> choose_on_host(const RowToChoose& row, std::span<const float> logits) {
  TAPML_TRY(check_logits(logits));
  ChosenToken chosen;
  if (needs_host(row)) {
    std::vector<float> changed(logits.begin(), logits.end());
    apply_logit_rules(*row.rules, *row.sampler, row.tokens, row.prompt, changed);
    if (row.constrain && *row.constrain) (*row.constrain)(changed);
    TAPML_ASSIGN(chosen.token, sample_token(changed, *row.sampler, *row.generator));
  } else {
    TAPML_ASSIGN(chosen.token, sample_token(logits, *row.sampler, *row.generator));
  }
  if (row.top_probabilities >= 0) {
    chosen.probabilities = log_probabilities(logits, chosen.token, row.top_probabilities);
  }
  return chosen;
}

// The result of a function of the model: -1 for logits without a token to take.
Result<ChosenToken> chosen_there(int32_t token) {
  if (token >= 0) return ChosenToken{.token = token, .is_end = false, .probabilities = {}};
  return fail(user_error("the model's logits are not finite", "logits", "finite numbers",
                         "NaN or infinity",
                         "a weight or a kernel is broken: tapml migrate compares every kernel"));
}

Status draw(Engine::State& state, const Tensor& logits, std::span<RowToChoose> rows) {
  const int64_t count = std::ssize(rows);
  HostTensor parameters = HostTensor::zeros(DType::kF64, {count, 3});
  HostTensor generators = HostTensor::zeros(DType::kI64, {count, 2});
  for (int64_t i = 0; i < count; ++i) {
    const RowToChoose& row = rows[static_cast<size_t>(i)];
    const HostTensor own = draw_parameters(drawn_options(*row.sampler), 1);
    std::ranges::copy(
        own.values<double>(),
        parameters.mutable_values<double>().subspan(static_cast<size_t>(3 * i)).begin());
    std::ranges::copy(
        row.generator->values<int64_t>(),
        generators.mutable_values<int64_t>().subspan(static_cast<size_t>(2 * i)).begin());
  }
  TAPML_ASSIGN(Tensor uploaded, runtime::upload(state.session, parameters));
  TAPML_ASSIGN(Tensor advancing, runtime::upload(state.session, generators));
  TAPML_ASSIGN(const HostTensor tokens, state.draw(logits, std::move(uploaded), advancing));
  TAPML_ASSIGN(const HostTensor advanced, runtime::download(advancing));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].chosen = chosen_there(tokens.values<int32_t>()[i]);
    if (rows[i].sampler->temperature == 0) continue;
    const auto own = advanced.values<int64_t>().subspan(2 * i, 2);
    std::ranges::copy(own, rows[i].generator->mutable_values<int64_t>().begin());
  }
  return {};
}

}  // namespace

Status choose_tokens(Engine::State& state, const Tensor& logits, std::span<RowToChoose> rows) {
  const bool is_random = std::ranges::any_of(
      rows, [](const RowToChoose& row) { return row.sampler->temperature > 0; });
  const bool on_host = std::ranges::any_of(rows, needs_host);
  if (!on_host && is_random && state.draws()) return draw(state, logits, rows);
  if (!on_host && !is_random && state.samples_in_model) {
    TAPML_ASSIGN(const HostTensor tokens, state.most_likely(logits));
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i].chosen = chosen_there(tokens.values<int32_t>()[i]);
    return {};
  }
  TAPML_ASSIGN(const HostTensor bytes, state.bytes_of(logits));
  const auto width = static_cast<size_t>(state.model.vocabulary);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].chosen = choose_on_host(rows[i], bytes.values<float>().subspan(i * width, width));
  }
  return {};
}

Result<LaterRows> LaterRows::read(Engine::State& state, const Tensor& logits, bool on_host) {
  LaterRows read;
  read.width_ = static_cast<size_t>(state.model.vocabulary);
  const auto taken =
      InputOfText::find(state.vm->executable(), state.function("sample"), Role::kLogits);
  const bool takes_all = !taken || !taken->constant_texts();
  if (!on_host && state.samples_in_model && takes_all) {
    TAPML_ASSIGN(read.likely_, state.most_likely(logits));
  } else {
    TAPML_ASSIGN(read.values_, state.bytes_of(logits));
  }
  return read;
}

void LaterRows::choose(int64_t at, RowToChoose& row) const {
  const auto index = static_cast<size_t>(at);
  if (likely_.size() > 0) {
    row.chosen = chosen_there(likely_.values<int32_t>()[index]);
  } else {
    row.chosen = choose_on_host(row, values_.values<float>().subspan(index * width_, width_));
  }
}

}  // namespace tapml::llm
