#include "rpc/session/served_arguments.h"

#include <algorithm>
#include <string>

#include "rpc/session/argument_cache.h"

namespace tapml::rpc {

using runtime::Tensor;
using runtime::Value;

void ServedArguments::begin(uint64_t after) {
  if (after == 0 || after != request_) {
    values_.clear();
    names_.clear();
  }
  passing_.clear();
  request_ = 0;
  taken_ = 0;
}

void ServedArguments::add(Value value, uint64_t name) {
  const Tensor* tensor = value.tensor();
  const bool stays = tensor && tensor->shape.size() <= ArgumentCache::kMostDimensions &&
                     taken_ < ArgumentCache::kMostPlaces;
  if (!stays) passing_.push_back(taken_);
  if (taken_ == values_.size()) {
    values_.emplace_back();
    names_.emplace_back();
  }
  values_[taken_] = std::move(value);
  names_[taken_++] = stays ? name : 0;
}

Status ServedArguments::add_same(uint64_t count) {
  const size_t end = taken_ + std::min<uint64_t>(count, values_.size() - taken_ + 1);
  for (; taken_ < end; ++taken_) {
    if (taken_ < values_.size() && names_[taken_] != 0 && values_[taken_].tensor()) continue;
    const bool released = taken_ < values_.size() && names_[taken_] != 0;
    return fail(
        protocol_error("argument " + std::to_string(taken_) + " is marked as unchanged, " +
                       (released ? "but its buffer was released" : "but it was not a tensor")));
  }
  return {};
}

void ServedArguments::end(uint64_t request) {
  values_.resize(taken_);
  names_.resize(taken_);
  request_ = request;
}

void ServedArguments::call_done() {
  for (const size_t i : passing_) values_[i] = {};
  passing_.clear();
}

void ServedArguments::put_names(StorageNames& names) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor* tensor = values_[i].tensor();
    if (names_[i] != 0 && tensor) names.add(tensor->storage.get(), names_[i]);
  }
}

}  // namespace tapml::rpc
