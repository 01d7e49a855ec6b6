// What the client keeps in mind of the last call of a function, so that weights are not named with
// every token.
#pragma once

#include <memory>
#include <vector>

#include "rpc/session/wire.h"
#include "runtime/value.h"

namespace tapml::rpc {

// The tensors among the arguments of one call, by their places. What they lie in is not kept alive.
// The server has kept the same (ServedArguments): tensors of at most kMostDimensions, at the first
// kMostEndpoints.
class ArgumentCache {
 public:
  static constexpr size_t kMostEndpoints = size_t{1} << 16;
  static constexpr size_t kMostDimensions = runtime::Extents::kInline;

  // The request that called; 0: there is nothing to remember.
  uint64_t request() const { return request_; }
  void called_by(uint64_t request) { request_ = request; }
  // Another call has `count` arguments: what is remembered beyond them goes.
  void resize(size_t count) { places_.resize(std::min(count, kMostEndpoints)); }

  // Whether the argument was this very tensor.
  bool has(size_t place, const runtime::Value& value) const noexcept;
  // Takes note of an argument, whatever it is.
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
