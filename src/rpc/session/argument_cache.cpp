#include "rpc/session/argument_cache.h"

namespace tapml::rpc {

using runtime::Storage;
using runtime::Tensor;
using runtime::Value;

namespace {

// Whether both refer to the same object, alive or not.
bool same_owner(const std::weak_ptr<Storage>& a, const std::shared_ptr<Storage>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

bool ArgumentCache::has(size_t place, const Value& value) const noexcept {
  const Tensor* tensor = value.tensor();
  if (!tensor || place >= places_.size()) return false;
  const Place& kept = places_[place];
  return kept.taken && same_owner(kept.storage, tensor->storage) && kept.offset == tensor->offset &&
         kept.dtype == tensor->dtype && kept.shape == tensor->shape;
}

void ArgumentCache::keep(size_t place, const Value& value) {
  if (place >= kMostPlaces) return;
  if (place >= places_.size()) places_.resize(place + 1);
  const Tensor* tensor = value.tensor();
  if (tensor && tensor->shape.size() <= kMostDimensions) {
    places_[place] = {tensor->storage, tensor->offset, tensor->dtype, tensor->shape, true};
  } else {
    places_[place] = {};
  }
}

}  // namespace tapml::rpc
