// Limits how much code a session holds on the server.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/result.h"

namespace tapml::rpc {

// Bytes of the modules and VMs that a client has names for. The two kinds have separate names, and
// share the limit.
class CodeBudget {
 public:
  using Bytes = std::unordered_map<uint64_t, uint64_t>;  // by name

  explicit CodeBudget(uint64_t most) : most_(most) {}

  // Ok if `bytes` more are within the budget, otherwise PlatformError (kLimit).
  Status check(uint64_t bytes) const noexcept;
  void hold_module(uint64_t id, uint64_t bytes) noexcept { hold(modules_, id, bytes); }
  void hold_vm(uint64_t id, uint64_t bytes) noexcept { hold(vms_, id, bytes); }
  void release_module(uint64_t id) noexcept { release(modules_, id); }
  void release_vm(uint64_t id) noexcept { release(vms_, id); }

 private:
  void hold(Bytes& held, uint64_t id, uint64_t bytes) noexcept;
  void release(Bytes& held, uint64_t id) noexcept;

  Bytes modules_, vms_;
  uint64_t bytes_ = 0;  // of both kinds
  const uint64_t most_;
};

}  // namespace tapml::rpc
