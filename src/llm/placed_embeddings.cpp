// Embeddings that take the place of tokens in the texts of an engine.
#include <algorithm>

#include "llm/engine_state.h"

namespace tapml::llm {

namespace {

constexpr const char *kPrefill = "prefill", *kLogitsAll = "logits_all";

Error beyond_prompt(int64_t position, int64_t tokens) {
  return user_error("the prompt ends before an embedding's position", "embeddings",
                    "positions from 0 to " + std::to_string(tokens - 1),
                    "position " + std::to_string(position),
                    "give a prompt with a token for each embedding");
}

}  // namespace

Status Engine::State::find_embedding_input() {
  const ModelFunction &prefill = function(kPrefill), &all = function(kLogitsAll);
  const std::array takes = {prefill.takes(Role::kEmbeddings), prefill.takes(Role::kPlacement),
                            all.takes(Role::kEmbeddings), all.takes(Role::kPlacement)};
  if (std::ranges::find(takes, true) == takes.end()) return {};
  if (std::ranges::find(takes, false) != takes.end()) {
    return fail(user_error("embeddings and placement go together", "the model's functions",
                           "both or neither, the same in prefill and in logits_all",
                           model_function_text(prefill) + "; " + model_function_text(all)));
  }
  embedding_input = InputOfText::find(vm->executable(), prefill, Role::kEmbeddings);
  if (embedding_input && embedding_input->rank() == 2 && embedding_input->constant_extent(1)) {
    return {};
  }
  return fail(user_error("the model does not declare the embeddings that it takes",
                         "function prefill of the model", "embeddings [b, m, d] with a constant d",
                         model_function_text(prefill)));
}

Status Engine::State::check_rows(const HostTensor& given) const {
  if (!embedding_input) {
    return fail(user_error("the model takes no embeddings", "embeddings",
                           "a model whose prefill has the input placement", model.architecture));
  }
  if (embedding_input->takes(given)) return {};
  return fail(user_error("the embeddings do not fit the model", "embeddings",
                         embedding_input->text(),
                         dtype_name(given.dtype()) + shape_to_string(given.shape())));
}

Status Engine::State::check_embeddings(const PlacedEmbeddings& placed) const {
  if (placed.rows.size() == 0 && placed.positions.empty()) return {};
  TAPML_TRY(check_rows(placed.rows));
  const Shape& shape = placed.rows.shape();
  if (std::ssize(placed.positions) != shape[0]) {
    return fail(user_error("the embeddings have another number of positions than of rows",
                           "embeddings", std::to_string(shape[0]) + " positions, one for each row",
                           std::to_string(placed.positions.size())));
  }
  std::vector<int64_t> sorted = placed.positions;
  std::ranges::sort(sorted);
  if (sorted.front() < 0 || sorted.back() >= longest_text) {
    const int64_t found = sorted.front() < 0 ? sorted.front() : sorted.back();
    return fail(user_error("an embedding's position is in no text", "embeddings",
                           "positions from 0 to " + std::to_string(longest_text - 1),
                           "position " + std::to_string(found)));
  }
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return fail(user_error("two embeddings have the same position", "embeddings",
                         "a position for each row",
                         "two rows for position " + std::to_string(*twice)));
}

Status Engine::State::check_prompt(const Sequence& sequence, int64_t count) const {
  const int64_t end = sequence.size() + count;
  for (const int64_t position : embeddings.positions) {
    if (position >= end) return fail(beyond_prompt(position, end));
  }
  return {};
}

Status Engine::State::check_unplaced(std::span<Sequence* const> sequences, int64_t count) const {
  for (const Sequence* sequence : sequences) {
    for (const int64_t position : embeddings.positions) {
      if (position < sequence->length || position >= sequence->length + count) continue;
      return fail(beyond_prompt(position, sequence->length));
    }
  }
  return {};
}

Status Engine::State::set_embedding_rows(int64_t sequences) {
  const bool is_there = uploaded_embeddings.storage && uploaded_embeddings.shape[0] == sequences &&
                        uploaded_generation == session.generation();
  if (!is_there) {
    const bool none = embeddings.rows.size() == 0;
    const int64_t rows_of_text = none ? 1 : embeddings.rows.shape()[0];
    HostTensor all = HostTensor::zeros(
        embedding_input->dtype(), {sequences, rows_of_text, *embedding_input->constant_extent(1)});
    for (int64_t i = 0; i < sequences && !none; ++i) {
      std::ranges::copy(embeddings.rows.bytes(),
                        all.mutable_bytes().begin() +
                            static_cast<std::ptrdiff_t>(i) * std::ssize(embeddings.rows.bytes()));
    }
    TAPML_ASSIGN(uploaded_embeddings, runtime::upload(session, all));
    uploaded_generation = session.generation();
  }
  arguments.set(Role::kEmbeddings, uploaded_embeddings);
  return {};
}

}  // namespace tapml::llm
