// Log messages. They go to one sink that the program installs at its start; without a sink they are
// dropped, so the libraries never write to a stream by themselves.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tapml {

enum class LogLevel { kInfo, kWarning };

const char* log_level_name(LogLevel level);  // "info", "warning"

using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// Replaces the sink; an empty one drops all messages. Messages below `lowest` never reach it. Call
// it before other threads log. The sink may be called from any thread.
void set_log_sink(LogSink sink, LogLevel lowest = LogLevel::kWarning);

void log_message(LogLevel level, std::string_view message);
inline void log_info(std::string_view message) { log_message(LogLevel::kInfo, message); }
inline void log_warning(std::string_view message) { log_message(LogLevel::kWarning, message); }

}  // namespace tapml
