// Ctrl-C: the first asks the running command to stop cleanly, the second kills it.
#pragma once

#include <atomic>

#include "base/result.h"

namespace tapml {

// Installs the SIGINT handler. Safe to call again, which re-arms it after a first Ctrl-C.
void install_interrupt_handler();
// True after Ctrl-C was pressed.
bool interrupted();
void clear_interrupt();
// The flag behind interrupted(), for loops that poll a flag.
const std::atomic<bool>& interrupt_flag();
// The error that long loops return between steps: PlatformError kCancelled after an interrupt.
Status check_interrupted();

}  // namespace tapml
