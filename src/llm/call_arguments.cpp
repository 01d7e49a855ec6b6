#include "llm/call_arguments.h"

#include <algorithm>

namespace tapml::llm {

using runtime::Tensor;
using runtime::Value;

Status CallArguments::set(Role role, const Shape& shape, std::span<const int32_t> values) {
  Written& written = written_[index(role)];
  Value& input = inputs_[index(role)];
  const std::span<const std::byte> bytes = std::as_bytes(values);
  const Tensor* there = input.tensor();
  const bool fits = there && there->shape == runtime::Extents(shape);
  const bool known = fits && written.generation == session_.generation() &&
                     there->storage->version() == written.version;
  if (known && std::ranges::equal(written.bytes, bytes)) return {};
  if (!fits) {
    input = {};  // frees it before another one is made
    TAPML_ASSIGN(Tensor fresh, runtime::make_tensor(session_, DType::kI32, shape));
    input = std::move(fresh);
    there = input.tensor();
  }
  written.bytes.clear();
  TAPML_TRY(
      session_.write(runtime::kDefaultStream, {there->storage->buffer(), there->offset}, bytes));
  there->storage->written();
  written.bytes.assign(bytes.begin(), bytes.end());
  written.version = there->storage->version();
  written.generation = session_.generation();
  return {};
}

std::span<const Value> CallArguments::of(const ModelFunction& function, const ModelInterface& model,
                                         std::span<const Value> state) {
  size_t before = function.inputs.size();
  for (const StateTensor& one : model.state) before += function.takes(one.kind) ? 1 : 0;
  const size_t all = before + (function.weights ? weights_.size() : 0);
  if (before != listed_ || all != arguments_.size()) {
    arguments_.assign(before, {});
    if (function.weights) arguments_.insert(arguments_.end(), weights_.begin(), weights_.end());
    listed_ = before;
  }
  auto next = arguments_.begin();
  for (const Role role : function.inputs) *next++ = inputs_[index(role)];
  for (size_t i = 0; i < state.size(); ++i) {
    if (function.takes(model.state[i].kind)) *next++ = state[i];
  }
  return arguments_;
}

void CallArguments::release() { std::fill_n(arguments_.begin(), listed_, Value()); }

}  // namespace tapml::llm
