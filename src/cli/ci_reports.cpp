#include "cli/ci_reports.h"

#include <CLI/CLI.hpp>

#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::cli {

void CiReportOptions::add_to(CLI::App& command) {
  command.add_option("--junit", junit, "File for a JUnit XML report with a case for each kernel");
  command.add_option("--markdown", markdown, "File for a Markdown summary");
}

void CiReportOptions::check() const {
  if (!junit.empty() && junit == markdown) {
    throw_user("two reports would be written to one file", "--junit and --markdown",
               "a file for each", junit);
  }
  for (const std::string& file : {junit, markdown}) {
    if (!file.empty()) unwrap(check_writable(file));
  }
}

void CiReportOptions::write(const std::vector<topdown::CiReport>& reports) const {
  if (!junit.empty()) unwrap(write_text_atomic(junit, topdown::junit_xml(reports)));
  if (!markdown.empty()) unwrap(write_text_atomic(markdown, topdown::markdown_summary(reports)));
}

}  // namespace tapml::cli
