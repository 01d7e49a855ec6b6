#include "cli/trace.h"

#include <CLI/CLI.hpp>

#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::cli {

void add_options(CLI::App& command, TraceOptions& options) {
  command.add_option("--trace", options.file,
                     "File for a Chrome trace of kernels, copies and waits in all sessions");
}

Trace::Trace(const TraceOptions& options) : file_(options.file) {
  if (on()) unwrap(check_writable(file_));
}

void Trace::begin(runtime::Session& session, const std::string& name) {
  if (!on()) return;
  unwrap(session.start_trace());
  sessions_.emplace_back(&session, name);
}

void Trace::write(std::vector<topdown::TraceTrack> more) {
  if (!on()) return;
  std::vector<topdown::TraceTrack> tracks;
  for (const auto& [session, name] : sessions_) {
    tracks.push_back({name, unwrap(session->take_trace()), {}});
  }
  for (topdown::TraceTrack& track : more) tracks.push_back(std::move(track));
  unwrap(write_text_atomic(file_, topdown::chrome_trace(tracks).dump() + "\n"));
}

}  // namespace tapml::cli
