// Options of a run as the commands of its reports repeat them.
#pragma once

#include "app/isolation.h"
#include "topdown/report/command_line.h"

namespace tapml::app {

topdown::CommandOptions command_options(const LibraryFiles& libraries, const RemoteOptions& remote,
                                        const IsolationOptions& isolation);

}  // namespace tapml::app
