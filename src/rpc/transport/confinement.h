// What keeps a session's process away from the server and from other sessions, whose user it is.
#pragma once

#include "base/result.h"

namespace tapml::rpc {

// The server's process, before it forks: its memory and that of the processes it forks is closed to
// processes of the same user (/proc/PID/mem, ptrace), and so are core files.
void close_memory() noexcept;

// This process, for good, with what it starts. It can signal itself alone, and neither trace
// another process nor read or write its memory or change its limits: such system calls fail with
// EPERM (seccomp). Of the superuser's capabilities it keeps those for files, locked memory and
// priorities. PlatformError (kAbsent) where the system has no such filters.
Status confine_process() noexcept;

}  // namespace tapml::rpc
