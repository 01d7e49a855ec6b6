// Ends a server by a signal.
#pragma once

#include <atomic>

namespace tapml::cli {

// Ctrl-C and SIGTERM shut a server down cleanly; a second one ends it at once.
void install_stop_handler();
// Whether one of them has come.
const std::atomic<bool>& stop_requested();

}  // namespace tapml::cli
