#include "rpc/session/argument_memory.h"

#include <string>

namespace tapml::rpc {

using runtime::Storage;
using runtime::Tensor;
using runtime::Value;

namespace {

// One object, be it there still or not.
bool same_owner(const std::weak_ptr<Storage>& a, const std::shared_ptr<Storage>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

bool ArgumentMemory::has(size_t place, const Value& value) const noexcept {
  const Tensor* tensor = value.tensor();
  if (!tensor || place >= places_.size()) return false;
  const Place& kept = places_[place];
  return kept.taken && same_owner(kept.storage, tensor->storage) && kept.offset == tensor->offset &&
         kept.dtype == tensor->dtype && kept.shape == tensor->shape;
}

void ArgumentMemory::keep(size_t place, const Value& value, uint64_t name) {
  if (place >= kMostPlaces) return;
  if (place >= places_.size()) places_.resize(place + 1);
  const Tensor* tensor = value.tensor();
  if (tensor && tensor->shape.size() <= kMostDimensions) {
    places_[place] = {tensor->storage, name, tensor->offset, tensor->dtype, tensor->shape, true};
  } else {
    places_[place] = {};
  }
}

Result<uint64_t> ArgumentMemory::recall(size_t place, std::vector<Value>& args) const {
  if (place >= places_.size() || !places_[place].taken) {
    return fail(protocol_error("argument " + std::to_string(place) +
                               " is said to be what it was, and it was no tensor"));
  }
  const Place& kept = places_[place];
  auto storage = kept.storage.lock();
  if (!storage) {
    return fail(protocol_error("argument " + std::to_string(place) +
                               " is said to be what it was, in a buffer that was released"));
  }
  args.emplace_back(Tensor{std::move(storage), kept.offset, kept.dtype, kept.shape});
  return kept.name;
}

}  // namespace tapml::rpc
