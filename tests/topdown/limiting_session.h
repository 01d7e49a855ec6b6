// A device with a limit that only some runs reach.
#pragma once

#include <set>

#include "runtime/forwarding_session.h"
#include "support/sessions.h"

namespace tapml::topdown {

// The cpu's session, which launches `kernel` this many times and then reports it as beyond a limit.
class LimitingSession : public runtime::ForwardingSession {
 public:
  // `launched`, if given, counts them.
  LimitingSession(std::string kernel, int64_t launches, int64_t* launched = nullptr)
      : ForwardingSession(testing::open_session("cpu")),
        kernel_(std::move(kernel)),
        most_(launches),
        launched_(launched ? launched : &own_count_) {}

  Status get_kernel(runtime::KernelId id, runtime::ModuleId module, const std::string& entry,
                    runtime::Deadline deadline) noexcept override {
    if (entry.starts_with(kernel_)) limited_.insert(id);
    return ForwardingSession::get_kernel(id, module, entry, deadline);
  }
  Status launch(runtime::StreamId stream, const runtime::LaunchRequest& request) noexcept override {
    if (limited_.contains(request.kernel) && ++*launched_ > most_) {
      return fail(platform_error(PlatformFault::kLimit, "more than this device has"));
    }
    return ForwardingSession::launch(stream, request);
  }

 private:
  const std::string kernel_;
  const int64_t most_;
  int64_t* const launched_;
  int64_t own_count_ = 0;
  std::set<runtime::KernelId> limited_;
};

}  // namespace tapml::topdown
