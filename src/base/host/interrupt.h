// Ctrl-C: the first asks the running command to stop in good order, the second kills it.
#pragma once

#include <atomic>

#include "base/result.h"

namespace tapml {

// Installs the handler of SIGINT. Safe to call again: it also re-arms after a first Ctrl-C.
void install_interrupt_handler();
// True once Ctrl-C was pressed.
bool interrupted();
void clear_interrupt();
// What interrupted() reads: for loops that poll a flag.
const std::atomic<bool>& interrupt_flag();
// The error that long loops return between two steps: PlatformError kCancelled once interrupted.
Status check_interrupted();

}  // namespace tapml
