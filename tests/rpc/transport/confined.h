// Whether processes can be confined on this system (rpc/transport/confinement.h).
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "rpc/transport/confinement.h"

namespace tapml::testing {

// Whether `holds` is true in a separate, confined process.
inline bool holds_when_confined(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(rpc::confine_process() && holds() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

inline bool can_confine() {
  return holds_when_confined([] { return true; });
}

}  // namespace tapml::testing
