// Injected faults of the runtime: a target's session that does not do what it is asked to. Most
// show in a whole run only: a kernel's own test uploads what it reads and waits for what it wrote.
#pragma once

#include <memory>
#include <vector>

#include "topdown/faults/fault_kinds.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

struct SessionFault {
  std::string kernel;
  FaultKind kind;
  size_t argument = 0;  // of kStaleBinding
};

// What sessions do wrong from now on; shared, so that a session that is open takes on what is
// added. Not while another thread uses one of them.
using SessionFaults = std::shared_ptr<std::vector<SessionFault>>;

// `platform` with sessions that do wrong, where these have processes of their own. Everything stays
// inside its buffers.
Platform with_session_faults(Platform platform, SessionFaults faults);

// How many ways there are to plant `kind`: arguments that may be stale.
size_t session_sites(FaultKind kind);

}  // namespace tapml::topdown
