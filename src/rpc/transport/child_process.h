// A program that speaks the protocol on its standard input and output.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "rpc/transport/stream_channel.h"

namespace tapml::rpc {

// Starts `command`, split at blanks and found on PATH, without a shell. It inherits the
// environment, except TAPML_RPC_TOKEN; its standard error is shown (error_relay.h). When the
// channel is closed the program sees the end of its input, and is killed if it does not exit.
// PlatformError kAbsent if it cannot be started.
Result<std::unique_ptr<Channel>> start_command(const std::string& command) noexcept;
// The same for a program with arguments, which may contain blanks; `name` is for messages.
Result<std::unique_ptr<Channel>> start_program(std::vector<std::string> arguments,
                                               const std::string& name) noexcept;

}  // namespace tapml::rpc
