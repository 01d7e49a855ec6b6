// Messages beside the results. They go to one sink that the program installs at its start; without
// a sink they vanish, so that the libraries never write to a stream on their own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tapml {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

const char* log_level_name(LogLevel level);  // "debug", "info", "warning", "error"

using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// Replaces the sink; an empty one silences. Messages below `lowest` never reach it. Call it before
// other threads log. The sink may be called from any thread.
void set_log_sink(LogSink sink, LogLevel lowest = LogLevel::kWarning);

// True where a message of this level reaches a sink: asks before costly text is made.
bool log_enabled(LogLevel level);
void log_message(LogLevel level, std::string_view message);
inline void log_debug(std::string_view message) { log_message(LogLevel::kDebug, message); }
inline void log_info(std::string_view message) { log_message(LogLevel::kInfo, message); }
inline void log_warning(std::string_view message) { log_message(LogLevel::kWarning, message); }

}  // namespace tapml
