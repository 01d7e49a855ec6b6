#include "base/host/interrupt.h"

#include <csignal>

namespace tapml {

namespace {

std::atomic<bool> g_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void on_interrupt(int) { g_interrupted = true; }

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  // The first signal restores the default handler, so the second one ends the process.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return g_interrupted; }

void clear_interrupt() { g_interrupted = false; }

const std::atomic<bool>& interrupt_flag() { return g_interrupted; }

Status check_interrupted() {
  if (!interrupted()) return {};
  return fail(platform_error(PlatformFault::kCancelled, "interrupted"));
}

}  // namespace tapml
