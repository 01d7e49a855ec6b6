// Isolates a session's process from the server and from other sessions, which run as the same user.
#pragma once

#include "base/result.h"

namespace tapml::rpc {

// Called in the server before it forks: closes its memory, and that of the forked processes, to
// processes of the same user (/proc/PID/mem, ptrace), and disables core files.
void close_memory() noexcept;

// Confines this process, permanently, and what it starts. It can signal only itself, and cannot
// trace another process, read or write its memory, or change its limits: such system calls fail
// with EPERM (seccomp). Of the superuser's capabilities it keeps those for files, locked memory and
// priorities. PlatformError (kAbsent) if the system has no such filters.
Status confine_process() noexcept;

}  // namespace tapml::rpc
