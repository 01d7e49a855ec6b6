// Embeddings that take the place of tokens in the texts of an engine.
#include <algorithm>

#include "base/strings.h"
#include "llm/engine_state.h"

namespace tapml::llm {

namespace {

constexpr const char *kPrefill = "prefill", *kLogitsAll = "logits_all";

// "f32[m, 12]"
std::string rows_text(DType dtype, const Shape& row) {
  return std::string(dtype_name(dtype)) + "[m, " + std::to_string(row[0]) + "]";
}

// The extent of a dimension if it is the same at every call.
std::optional<int64_t> constant_extent(const DimCheck& dim) {
  if (dim.define_slot >= 0) return std::nullopt;
  const Result<int64_t> value = evaluate(dim.equals, {});
  return value ? std::optional(*value) : std::nullopt;
}

// The dtype and the shape [d] of the rows that a parameter [b, m, d] takes.
std::optional<std::pair<DType, Shape>> row_of(const ValueCheck* check) {
  if (!check || check->kind != ValueCheck::Kind::kTensor || !check->has_dtype || !check->has_dims ||
      check->dims.size() != 3) {
    return std::nullopt;
  }
  const std::optional<int64_t> width = constant_extent(check->dims[2]);
  if (!width) return std::nullopt;
  return std::pair(check->dtype, Shape{*width});
}

}  // namespace

Status Engine::State::find_embedding_row() {
  const ModelFunction &prefill = function(kPrefill), &all = function(kLogitsAll);
  const std::array takes = {prefill.takes(Role::kEmbeddings), prefill.takes(Role::kPlacement),
                            all.takes(Role::kEmbeddings), all.takes(Role::kPlacement)};
  if (std::ranges::find(takes, true) == takes.end()) return {};
  if (std::ranges::find(takes, false) != takes.end()) {
    return fail(user_error("embeddings and placement go together", "the model's functions",
                           "both or neither, the same in prefill and in logits_all",
                           model_function_text(prefill) + "; " + model_function_text(all)));
  }
  const auto at = std::ranges::find(prefill.inputs, Role::kEmbeddings) - prefill.inputs.begin();
  embedding_row = row_of(
      check_of_parameter(*vm->executable().find_function(kPrefill), static_cast<size_t>(at)));
  if (embedding_row) return {};
  return fail(user_error("the model does not declare the embeddings that it takes",
                         "function prefill of the model", "embeddings [b, m, d] with a constant d",
                         model_function_text(prefill)));
}

Status Engine::State::check_embeddings(const PlacedEmbeddings& placed) const {
  if (placed.rows.size() == 0 && placed.positions.empty()) return {};
  if (!embedding_row) {
    return fail(user_error("the model takes no embeddings", "embeddings",
                           "a model whose prefill has the input placement", model.architecture));
  }
  const auto& [dtype, row] = *embedding_row;
  const Shape& shape = placed.rows.shape();
  if (placed.rows.dtype() != dtype || shape.size() != 2 || shape[0] < 1 || shape[1] != row[0]) {
    return fail(user_error("the embeddings do not fit the model", "embeddings",
                           rows_text(dtype, row),
                           dtype_name(placed.rows.dtype()) + shape_to_string(shape)));
  }
  std::vector<int64_t> sorted = placed.positions;
  std::ranges::sort(sorted);
  const bool are_different = std::ranges::adjacent_find(sorted) == sorted.end();
  if (std::ssize(sorted) == shape[0] && are_different && sorted.front() >= 0 &&
      sorted.back() < longest_text) {
    return {};
  }
  return fail(user_error("the positions of the embeddings are wrong", "positions",
                         "for each of " + std::to_string(shape[0]) +
                             " rows another one from 0 to " + std::to_string(longest_text - 1),
                         join(placed.positions, [](int64_t one) { return std::to_string(one); })));
}

Status Engine::State::check_unplaced(std::span<Sequence* const> sequences, int64_t count) const {
  for (const Sequence* sequence : sequences) {
    for (const int64_t position : embeddings.positions) {
      if (position < sequence->length || position >= sequence->length + count) continue;
      return fail(user_error("the text ends before an embedding's position", "embeddings",
                             "positions in the prompt", "position " + std::to_string(position),
                             "give a prompt with a token for each embedding"));
    }
  }
  return {};
}

Status Engine::State::set_embedding_rows(int64_t sequences) {
  const bool is_there = uploaded_embeddings.storage && uploaded_embeddings.shape[0] == sequences &&
                        uploaded_generation == session.generation();
  if (!is_there) {
    const auto& [dtype, row] = *embedding_row;
    const bool none = embeddings.rows.size() == 0;
    HostTensor all =
        HostTensor::zeros(dtype, {sequences, none ? 1 : embeddings.rows.shape()[0], row[0]});
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
