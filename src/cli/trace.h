// --trace of the commands that run something.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/session.h"
#include "topdown/profile/trace.h"

namespace CLI {
class App;
}

namespace tapml::cli {

struct TraceOptions {
  std::string file;
};
void add_options(CLI::App& command, TraceOptions& options);

// Records what sessions do from begin() to write(), if a file was requested; else does nothing.
class Trace {
 public:
  // UserError if the file cannot be written; checked before the work starts.
  explicit Trace(const TraceOptions& options);
  bool on() const { return !file_.empty(); }
  void begin(runtime::Session& session, const std::string& name);
  // `more`: tracks in addition to those of the sessions.
  void write(std::vector<topdown::TraceTrack> more = {});

 private:
  std::string file_;
  std::vector<std::pair<runtime::Session*, std::string>> sessions_;
};

}  // namespace tapml::cli
