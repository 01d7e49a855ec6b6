// What both ends keep in mind of the last call of a function, so that weights are not named with
// every token.
#pragma once

#include <memory>
#include <vector>

#include "rpc/session/wire.h"
#include "runtime/value.h"

namespace tapml::rpc {

// The tensors among the arguments of one call, by their places. What they lie in is not kept alive.
// Both ends remember the same of a call: tensors of at most kMostDimensions, at the first
// kMostPlaces.
class ArgumentMemory {
 public:
  static constexpr size_t kMostPlaces = size_t{1} << 16;
  static constexpr size_t kMostDimensions = runtime::Extents::kInline;

  struct Place {
    std::weak_ptr<runtime::Storage> storage;
    uint64_t name = 0;  // of the buffer
    int64_t offset = 0;
    DType dtype = DType::kF32;
    runtime::Extents shape;
    bool taken = false;
  };

  // The request that called; 0: there is nothing to remember.
  uint64_t request() const { return request_; }
  void called_by(uint64_t request) { request_ = request; }
  // Another call has `count` arguments: what is remembered beyond them goes.
  void resize(size_t count) { places_.resize(std::min(count, kMostPlaces)); }
  void clear() {
    places_.clear();
    request_ = 0;
  }

  // Whether the argument was this very tensor.
  bool has(size_t place, const runtime::Value& value) const noexcept;
  // Takes note of an argument, whatever it is. `name`: of the buffer of one that is a tensor.
  void keep(size_t place, const runtime::Value& value, uint64_t name);
  // Appends a remembered tensor to `args`; the name of its buffer. ProtocolError where there was
  // none, or where what it lay in has been released.
  Result<uint64_t> recall(size_t place, std::vector<runtime::Value>& args) const;

 private:
  std::vector<Place> places_;
  uint64_t request_ = 0;
};

}  // namespace tapml::rpc
