#include "llm/model_state.h"

#include <algorithm>

namespace tapml::llm {

using runtime::BufferId;
using runtime::Tensor;

namespace {

// All bits set are a NaN in every float dtype.
constexpr std::byte kPoison{0xff};
// Bytes that one write poisons at most.
constexpr int64_t kPoisonedAtOnce = int64_t{1} << 20;

bool is_paged(const StateTensor& state) { return state.kind == StateKind::kPaged; }

}  // namespace

// Unwritten rows are never read, but state in a carved test case must not depend on earlier
// contents of the memory.
Result<Tensor> ModelState::make(const StateTensor& state, int64_t rows) {
  Shape shape = {rows};
  if (is_paged(state)) shape.push_back(model_.page_size);
  shape.insert(shape.end(), state.shape.begin(), state.shape.end());
  TAPML_ASSIGN(Tensor tensor, runtime::make_tensor(session_, state.dtype, shape));
  TAPML_TRY(empty(state, tensor, 0, tensor.byte_size()));
  return tensor;
}

Status ModelState::empty(const StateTensor& state, const Tensor& tensor, int64_t offset,
                         int64_t bytes) {
  const BufferId buffer = tensor.storage->buffer();
  const int64_t first = tensor.offset + offset;
  if (poisoned_ && is_paged(state) && is_float(state.dtype)) {
    const std::vector<std::byte> poison(static_cast<size_t>(std::min(bytes, kPoisonedAtOnce)),
                                        kPoison);
    for (int64_t at = 0; at < bytes; at += kPoisonedAtOnce) {
      const auto count = static_cast<size_t>(std::min(bytes - at, kPoisonedAtOnce));
      TAPML_TRY(session_.write(runtime::kDefaultStream, {buffer, first + at},
                               std::span(poison).first(count)));
    }
  } else {
    TAPML_TRY(session_.fill_zero(runtime::kDefaultStream, {buffer, first}, bytes));
  }
  tensor.storage->written();
  return {};
}

Status ModelState::allocate(int64_t pages, int64_t slots) {
  for (const StateTensor& state : model_.state) {
    TAPML_ASSIGN(Tensor tensor, make(state, is_paged(state) ? pages : slots));
    values_.emplace_back(std::move(tensor));
  }
  return {};
}

Status ModelState::grow(bool paged, int64_t rows) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (is_paged(model_.state[i]) != paged) continue;
    const Tensor& old = *values_[i].tensor();
    TAPML_ASSIGN(Tensor larger, make(model_.state[i], rows));
    TAPML_TRY(session_.copy(runtime::kDefaultStream, {old.storage->buffer(), old.offset},
                            {larger.storage->buffer(), larger.offset}, old.byte_size()));
    larger.storage->written();
    // The old tensor may only be freed when its copy is done.
    TAPML_TRY(session_.synchronize(runtime::kDefaultStream));
    values_[i] = std::move(larger);
  }
  return {};
}

Status ModelState::grow_pages(int64_t pages) { return grow(true, pages); }
Status ModelState::grow_slots(int64_t slots) { return grow(false, slots); }

Status ModelState::clear() {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& tensor = *values_[i].tensor();
    TAPML_TRY(empty(model_.state[i], tensor, 0, tensor.byte_size()));
  }
  return {};
}

Status ModelState::clear_page(int32_t page) { return clear_row(true, page); }
Status ModelState::clear_slot(int32_t slot) { return clear_row(false, slot); }

Status ModelState::clear_row(bool paged, int32_t row) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (is_paged(model_.state[i]) != paged) continue;
    const Tensor& tensor = *values_[i].tensor();
    const int64_t bytes = tensor.byte_size() / tensor.shape[0];
    TAPML_TRY(empty(model_.state[i], tensor, row * bytes, bytes));
  }
  return {};
}

Status ModelState::copy(const Tensor& tensor, int64_t from, int64_t to, int64_t bytes) {
  const BufferId buffer = tensor.storage->buffer();
  TAPML_TRY(session_.copy(runtime::kDefaultStream, {buffer, tensor.offset + from},
                          {buffer, tensor.offset + to}, bytes));
  tensor.storage->written(tensor.offset + to, bytes);
  return {};
}

Status ModelState::copy_rows(int64_t from, int64_t to, int64_t count) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!is_paged(model_.state[i])) continue;
    const Tensor& tensor = *values_[i].tensor();
    const int64_t bytes = tensor.byte_size() / (tensor.shape[0] * model_.page_size);
    TAPML_TRY(copy(tensor, from * bytes, to * bytes, count * bytes));
  }
  return {};
}

Status ModelState::copy_slot(int32_t from, int32_t to) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (is_paged(model_.state[i])) continue;
    const Tensor& tensor = *values_[i].tensor();
    const int64_t bytes = tensor.byte_size() / tensor.shape[0];
    TAPML_TRY(copy(tensor, from * bytes, to * bytes, bytes));
  }
  return {};
}

}  // namespace tapml::llm
