// What every kind of session does alike.
#include "runtime/session.h"

namespace tapml::runtime {

Status Session::write_contents(StreamId stream, std::span<const ContentWrite> contents,
                               Deadline) noexcept {
  for (const ContentWrite& content : contents) TAPML_TRY(write(stream, content.to, content.bytes));
  return {};
}

Status Session::start_trace() noexcept {
  trace_.start();
  return {};
}

Result<std::vector<TraceEvent>> Session::take_trace() noexcept { return trace_.take(); }

}  // namespace tapml::runtime
