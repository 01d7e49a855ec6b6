// Common parts of all kinds of sessions.
#include "runtime/session.h"

namespace tapml::runtime {

Status Session::write_contents(StreamId stream, std::span<const ContentWrite> contents,
                               Deadline) noexcept {
  int64_t done = 0, total = 0;
  for (const ContentWrite& content : contents) total += std::ssize(content.bytes);
  for (const ContentWrite& content : contents) {
    tell_bytes("upload", done, total);
    TAPML_TRY(write(stream, content.to, content.bytes));
    done += std::ssize(content.bytes);
  }
  tell_bytes("upload", total, total);
  return {};
}

Status Session::start_trace() noexcept {
  trace_.start();
  return {};
}

Result<std::vector<TraceEvent>> Session::take_trace() noexcept { return trace_.take(); }

}  // namespace tapml::runtime
