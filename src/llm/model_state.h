// The tensors that a model keeps between calls (StateTensor, abi/model_interface.h), on a session.
// Internal to the component.
#pragma once

#include <vector>

#include "abi/model_interface.h"
#include "runtime/session.h"
#include "runtime/value.h"

namespace tapml::llm {

class ModelState {
 public:
  // `poisoned`: pages are filled with NaN where they would be zero.
  ModelState(runtime::Session& session, const ModelInterface& model, bool poisoned)
      : session_(session), model_(model), poisoned_(poisoned) {}

  // Allocates `pages` pages and `slots` slots, all zero or poisoned.
  Status allocate(int64_t pages, int64_t slots);
  // Makes room for more pages, or more slots, and keeps their contents.
  Status grow_pages(int64_t pages);
  Status grow_slots(int64_t slots);
  // Empties everything, one page of each tensor with pages, or one slot of each with slots.
  Status clear();
  Status clear_page(int32_t page);
  Status clear_slot(int32_t slot);
  // Copies `count` rows of all paged state; row r is row `r % page_size` of page `r / page_size`.
  Status copy_rows(int64_t from, int64_t to, int64_t count);
  // Copies a slot of all state with slots.
  Status copy_slot(int32_t from, int32_t to);
  bool poisoned() const { return poisoned_; }
  void set_poisoned(bool poisoned) { poisoned_ = poisoned; }

  // In the interface's order.
  const std::vector<runtime::Value>& values() const { return values_; }
  void set(size_t i, runtime::Value value) { values_[i] = std::move(value); }

 private:
  Result<runtime::Tensor> make(const StateTensor& state, int64_t rows);
  Status grow(bool paged, int64_t rows);
  Status clear_row(bool paged, int32_t row);
  // Copies between places of a state's tensor, in bytes.
  Status copy(const runtime::Tensor& tensor, int64_t from, int64_t to, int64_t bytes);
  // Zeroes or poisons a part of the tensor of a state.
  Status empty(const StateTensor& state, const runtime::Tensor& tensor, int64_t offset,
               int64_t bytes);

  runtime::Session& session_;
  const ModelInterface& model_;
  bool poisoned_;
  std::vector<runtime::Value> values_;
};

}  // namespace tapml::llm
