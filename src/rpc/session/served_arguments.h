// The server's side of arguments that calls omit because they are unchanged (the client's:
// ArgumentCache).
#pragma once

#include <vector>

#include "rpc/session/storage_names.h"
#include "rpc/session/wire.h"
#include "runtime/value.h"

namespace tapml::rpc {

// The arguments of a call; between two calls of a function, those that the next one may omit.
class ServedArguments {
 public:
  const std::vector<runtime::Value>& values() const { return values_; }

  // Takes the arguments of a call one by one, between begin() and end(). `after`: the request whose
  // arguments the client knows; 0: none.
  void begin(uint64_t after);
  void add(runtime::Value value, uint64_t name);  // `name`: of its buffer, if it is a tensor
  // The next `count` arguments are unchanged. ProtocolError if one of them was no tensor, or if its
  // buffer has been released.
  Status add_same(uint64_t count);
  void end(uint64_t request);

  // The call is over: keeps only what the next one may omit.
  void call_done();
  // Arguments in buffers for which released(name, storage) is true may no longer be omitted.
  template <class Released>
  void forget(Released&& released) noexcept {
    for (size_t i = 0; i < values_.size(); ++i) {
      const runtime::Tensor* tensor = values_[i].tensor();
      if (names_[i] != 0 && tensor && released(names_[i], *tensor->storage)) values_[i] = {};
    }
  }
  // Adds the names of what may be omitted.
  void put_names(StorageNames& names) const;

 private:
  std::vector<runtime::Value> values_;
  std::vector<uint64_t> names_;  // of their buffers; 0: the next call must not omit it
  std::vector<size_t> passing_;  // indices of arguments that it must not omit
  uint64_t request_ = 0;
  size_t taken_ = 0;
};

}  // namespace tapml::rpc
