// Options of a run as they are repeated in the commands of its reports.
#pragma once

#include "app/isolation.h"
#include "topdown/report/command_line.h"

namespace tapml::app {

topdown::CommandOptions command_options(const LibraryFiles& libraries, const RemoteOptions& remote,
                                        const IsolationOptions& isolation);

}  // namespace tapml::app
