// Injected faults of the runtime: a target's session that does something wrong. Most show in a
// whole run only, because a kernel's own test uploads its inputs and waits for its outputs.
#pragma once

#include <memory>
#include <vector>

#include "topdown/faults/fault_kinds.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

struct SessionFault {
  std::string kernel;
  FaultKind kind;
  size_t argument = 0;  // for kStaleBinding
};

// The faults of sessions; shared, so that an open session applies faults that are added. Do not
// change it while another thread uses one of the sessions.
using SessionFaults = std::shared_ptr<std::vector<SessionFault>>;

// `platform` with faulty sessions, if these have processes of their own. Every fault stays inside
// its buffers.
Platform with_session_faults(Platform platform, SessionFaults faults);

// Number of ways to inject `kind`: arguments that may be stale.
size_t session_sites(FaultKind kind);

}  // namespace tapml::topdown
