// Options of the commands that hold conversations.
#pragma once

#include <string>
#include <vector>

#include "app/chat.h"
#include "cli/command.h"

namespace tapml::cli {

void add_options(CLI::App& command, app::ChatOptions& options);  // --system, --chat-template, ...
void add_stop_option(CLI::App& command, std::vector<std::string>& stop);

}  // namespace tapml::cli
