#include "llm/model_state.h"

namespace tapml::llm {

using runtime::Tensor;
using runtime::Value;

namespace {

bool is_paged(const StateTensor& state) { return state.kind == StateKind::kPaged; }

}  // namespace

// Unwritten rows are never read, but state in a carved test case must not depend on earlier
// contents of the memory.
Result<Tensor> ModelState::make(const StateTensor& state, int64_t rows) {
  Shape shape = {rows};
  if (is_paged(state)) shape.push_back(model_.page_size);
  shape.insert(shape.end(), state.shape.begin(), state.shape.end());
  TAPML_ASSIGN(Tensor tensor, runtime::make_tensor(session_, state.dtype, shape));
  TAPML_TRY(zero(tensor, 0, tensor.byte_size()));
  return tensor;
}

Status ModelState::zero(const Tensor& tensor, int64_t offset, int64_t bytes) {
  TAPML_TRY(session_.fill_zero(runtime::kDefaultStream,
                               {tensor.storage->buffer(), tensor.offset + offset}, bytes));
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
  for (const Value& value : values_) {
    const Tensor& tensor = *value.tensor();
    TAPML_TRY(zero(tensor, 0, tensor.byte_size()));
  }
  return {};
}

Status ModelState::clear_slot(int32_t slot) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (is_paged(model_.state[i])) continue;
    const Tensor& tensor = *values_[i].tensor();
    const int64_t row = tensor.byte_size() / tensor.shape[0];
    TAPML_TRY(zero(tensor, slot * row, row));
  }
  return {};
}

}  // namespace tapml::llm
