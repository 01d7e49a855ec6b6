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
  ModelState(runtime::Session& session, const ModelInterface& model)
      : session_(session), model_(model) {}

  // Allocates `pages` pages and `slots` slots, all zero.
  Status allocate(int64_t pages, int64_t slots);
  // Makes room for more pages, or more slots, and keeps their contents.
  Status grow_pages(int64_t pages);
  Status grow_slots(int64_t slots);
  // Zeroes everything, or one slot of each tensor with slots.
  Status clear();
  Status clear_slot(int32_t slot);

  // In the interface's order.
  const std::vector<runtime::Value>& values() const { return values_; }
  void set(size_t i, runtime::Value value) { values_[i] = std::move(value); }

 private:
  Result<runtime::Tensor> make(const StateTensor& state, int64_t rows);
  Status grow(bool paged, int64_t rows);
  Status zero(const runtime::Tensor& tensor, int64_t offset, int64_t bytes);

  runtime::Session& session_;
  const ModelInterface& model_;
  std::vector<runtime::Value> values_;
};

}  // namespace tapml::llm
