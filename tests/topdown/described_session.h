// The cpu, as a device that says other things of itself.
#pragma once

#include "runtime/forwarding_session.h"
#include "support/sessions.h"

namespace tapml::topdown {

class DescribedSession : public runtime::ForwardingSession {
 public:
  DescribedSession()
      : ForwardingSession(testing::open_session("cpu")), described(session().info()) {}
  const DeviceInfo& info() const noexcept override { return described; }

  DeviceInfo described;
};

}  // namespace tapml::topdown
