#include "base/log.h"

namespace tapml {

namespace {

struct LogState {
  LogSink sink;
  LogLevel lowest = LogLevel::kWarning;
};

LogState& state() {
  static LogState log;
  return log;
}

}  // namespace

const char* log_level_name(LogLevel level) { return level == LogLevel::kInfo ? "info" : "warning"; }

void set_log_sink(LogSink sink, LogLevel lowest) {
  state().sink = std::move(sink);
  state().lowest = lowest;
}

void log_message(LogLevel level, std::string_view message) {
  if (state().sink && level >= state().lowest) state().sink(level, message);
}

}  // namespace tapml
