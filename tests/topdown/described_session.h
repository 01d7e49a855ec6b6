// The cpu, with a different device description.
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
