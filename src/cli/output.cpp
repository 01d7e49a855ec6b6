#include <cstdio>

#include "base/host/interrupt.h"
#include "base/host/terminal.h"
#include "cli/command.h"
#include "io/error_json.h"
#include "io/host/mapped_ranges.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

// U+0000 is valid text.
void write_whole(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_document(const Json& document) { std::printf("%s\n", document.dump(2).c_str()); }

}  // namespace

int exit_code(const Error& error) {
  if (interrupted()) return kInterrupted;
  switch (error.kind) {
    case ErrorKind::kUser:
      return kBadInput;
    case ErrorKind::kPlatform:
      return kPlatform;
    case ErrorKind::kInternal:
      return kDefect;
  }
  return kDefect;
}

void Output::line(const std::string& text) const {
  if (!json) write_whole(text + "\n");
}

void Output::text(const std::string& text) const {
  if (json) return;
  write_whole(text);
  std::fflush(stdout);
}

void Output::document(const Json& document) const {
  // Reports no result if a mapped file changed meanwhile.
  unwrap(check_mapped_files());
  if (json) print_document(document);
}

void Output::last_line(const std::string& text) const {
  std::fflush(stdout);  // keeps earlier output before it
  std::fprintf(json ? stderr : stdout, "%s\n", text.c_str());
}

int Output::error(const Error& error) const {
  if (json) {
    print_document(Json::object({{"error", error_json(error)}}));
    return exit_code(error);
  }
  if (interrupted()) {
    std::fprintf(stderr, "interrupted\n");
    return kInterrupted;
  }
  error_text(error);
  return exit_code(error);
}

void Output::error_text(const Error& error) const {
  const char* what = error.kind == ErrorKind::kInternal   ? "internal error (a defect of tapml)"
                     : error.kind == ErrorKind::kPlatform ? "platform error"
                                                          : "error";
  std::fprintf(stderr, "%s: %s\n", styled(what, Style::kRed, terminal_has_colors(2)).c_str(),
               error.to_string().c_str());
}

}  // namespace tapml::cli
