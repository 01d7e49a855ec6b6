#include "rpc/session/code_budget.h"

namespace tapml::rpc {

Status CodeBudget::check(uint64_t bytes) const noexcept {
  if (bytes <= most_ && bytes_ <= most_ - bytes) return {};
  return fail(platform_error(PlatformFault::kLimit,
                             "modules and executables of " + std::to_string(bytes) +
                                 " bytes; the session has " + std::to_string(bytes_) +
                                 " already and may have " + std::to_string(most_),
                             "the server", "release modules and VMs that are no longer used"));
}

void CodeBudget::hold(Bytes& held, uint64_t id, uint64_t bytes) noexcept {
  release(held, id);
  if (bytes == 0) return;
  held.emplace(id, bytes);
  bytes_ += bytes;
}

void CodeBudget::release(Bytes& held, uint64_t id) noexcept {
  const auto found = held.find(id);
  if (found == held.end()) return;
  bytes_ -= found->second;
  held.erase(found);
}

}  // namespace tapml::rpc
