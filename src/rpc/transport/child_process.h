// A program that speaks the protocol on its standard input and output.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "rpc/transport/stream_channel.h"

namespace tapml::rpc {

// Starts `command`, split at blanks, found on PATH; no shell. Its standard error is ours, and so is
// its environment, but for TAPML_RPC_TOKEN. The
// channel's end is the program's: it sees its input end, and is killed when it does not go.
// PlatformError kAbsent where it cannot be started.
Result<std::unique_ptr<Channel>> start_command(const std::string& command) noexcept;
// The same for a program with its arguments, which may have blanks; `name` is for messages.
Result<std::unique_ptr<Channel>> start_program(std::vector<std::string> arguments,
                                               const std::string& name) noexcept;

}  // namespace tapml::rpc
