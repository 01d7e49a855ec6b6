// Remembers the arguments of the last call of a function, so that the weights are not sent by name
// with every token.
#pragma once

#include <memory>
#include <vector>

#include "rpc/session/wire.h"
#include "runtime/value.h"

namespace tapml::rpc {

// The tensor arguments of one call, by position. Does not keep their storages alive. The server
// keeps the same ones (ServedArguments): tensors of at most kMostDimensions among the first
// kMostPlaces arguments.
class ArgumentCache {
 public:
  static constexpr size_t kMostPlaces = size_t{1} << 16;
  static constexpr size_t kMostDimensions = runtime::Extents::kInline;

  // The request of that call; 0: nothing is remembered.
  uint64_t request() const { return request_; }
  void called_by(uint64_t request) { request_ = request; }
  // The next call has `count` arguments: forgets those beyond.
  void resize(size_t count) { places_.resize(std::min(count, kMostPlaces)); }

  // Whether the argument was this very tensor.
  bool has(size_t place, const runtime::Value& value) const noexcept;
  // Remembers an argument of any kind.
  void keep(size_t place, const runtime::Value& value);

 private:
  struct Place {
    std::weak_ptr<runtime::Storage> storage;
    int64_t offset = 0;
    DType dtype = DType::kF32;
    runtime::Extents shape;
    bool taken = false;
  };

  std::vector<Place> places_;
  uint64_t request_ = 0;
};

}  // namespace tapml::rpc
