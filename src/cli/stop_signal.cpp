#include "cli/stop_signal.h"

#include <csignal>

namespace tapml::cli {

namespace {

std::atomic<bool> g_stop_requested = false;

void on_stop(int) { g_stop_requested = true; }

}  // namespace

void install_stop_handler() {
  struct sigaction action = {};
  action.sa_handler = on_stop;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& stop_requested() { return g_stop_requested; }

}  // namespace tapml::cli
