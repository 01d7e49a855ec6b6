// The server's side of arguments that are left out because they stay (ArgumentCache: the
// client's).
#pragma once

#include <vector>

#include "rpc/session/storage_names.h"
#include "rpc/session/wire.h"
#include "runtime/value.h"

namespace tapml::rpc {

// The arguments of a call; between two calls of a function what the next one may leave out.
class ServedArguments {
 public:
  const std::vector<runtime::Value>& values() const { return values_; }

  // Takes the arguments of a call one by one, between begin() and end(). `after`: the request that
  // the client knows the arguments of; 0: of none.
  void begin(uint64_t after);
  void add(runtime::Value value, uint64_t name);  // of the buffer of one that is a tensor
  // So many more are what they were. ProtocolError where one of them was no tensor, or where the
  // buffer that it lay in has been released.
  Status add_same(uint64_t count);
  void end(uint64_t request);

  // The call is over: only what the next one may leave out stays.
  void call_done();
  // What may be left out, in buffers of which released(name, storage) is true, may be no more.
  template <class Released>
  void forget(Released&& released) noexcept {
    for (size_t i = 0; i < values_.size(); ++i) {
      const runtime::Tensor* tensor = values_[i].tensor();
      if (names_[i] != 0 && tensor && released(names_[i], *tensor->storage)) values_[i] = {};
    }
  }
  // The names of what may be left out.
  void put_names(StorageNames& names) const;

 private:
  std::vector<runtime::Value> values_;
  std::vector<uint64_t> names_;  // of their buffers; 0: the next call may not leave it out
  std::vector<size_t> passing_;  // such arguments
  uint64_t request_ = 0;
  size_t taken_ = 0;
};

}  // namespace tapml::rpc
