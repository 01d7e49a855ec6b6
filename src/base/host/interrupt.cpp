#include "base/host/interrupt.h"

#include <csignal>

namespace tapml {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void on_interrupt(int) { g_interrupted = 1; }

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  // The first signal resets the handler to the default, which ends the process at the second.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return g_interrupted != 0; }

void clear_interrupt() { g_interrupted = 0; }

Status check_interrupted() {
  if (!interrupted()) return {};
  return fail(platform_error(PlatformFault::kCancelled, "interrupted"));
}

}  // namespace tapml
