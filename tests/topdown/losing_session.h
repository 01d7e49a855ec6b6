// A device that is lost on purpose.
#pragma once

#include "runtime/forwarding_session.h"
#include "support/sessions.h"

namespace tapml::topdown {

// The cpu's session, which is lost after this many launches.
class LosingSession : public runtime::ForwardingSession {
 public:
  explicit LosingSession(int launches)
      : ForwardingSession(testing::open_session("cpu")), left_(launches) {}

  Status launch(runtime::StreamId stream, const runtime::LaunchRequest& request) noexcept override {
    if (left_-- <= 0) return fail(platform_error(PlatformFault::kLost, "the device is lost"));
    return ForwardingSession::launch(stream, request);
  }

 private:
  int left_;
};

}  // namespace tapml::topdown
