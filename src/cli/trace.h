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

// What sessions do from begin() to write(), where a file was asked for; nothing else.
class Trace {
 public:
  // UserError where the file cannot be written: now, not after minutes of work.
  explicit Trace(const TraceOptions& options);
  bool on() const { return !file_.empty(); }
  void begin(runtime::Session& session, const std::string& name);
  // `more`: tracks beside those of the sessions.
  void write(std::vector<topdown::TraceTrack> more = {});

 private:
  std::string file_;
  std::vector<std::pair<runtime::Session*, std::string>> sessions_;
};

}  // namespace tapml::cli
