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

const char* log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

void set_log_sink(LogSink sink, LogLevel lowest) {
  state().sink = std::move(sink);
  state().lowest = lowest;
}

bool log_enabled(LogLevel level) { return state().sink && level >= state().lowest; }

void log_message(LogLevel level, std::string_view message) {
  if (log_enabled(level)) state().sink(level, message);
}

}  // namespace tapml
