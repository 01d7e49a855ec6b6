#include "cli/suite_completeness.h"

#include "base/host/terminal.h"
#include "topdown/results/result_json.h"
#include "topdown/suite/coverage.h"

namespace tapml::cli {

void say_what_is_missing(const topdown::Suite& suite, const Output& output) {
  const bool colors = terminal_has_colors(1);
  if (!suite.incomplete.empty()) {
    output.line(styled("the suite is incomplete", Style::kRed, colors) + ": " + suite.incomplete);
  }
  const std::string untested = topdown::untested_text(suite.untested);
  if (!untested.empty()) output.line(untested);
}

void set_completeness(Json& json, const topdown::Suite& suite) {
  json.set("complete", Json::boolean(suite.incomplete.empty()));
  json.set("reason", Json::string(suite.incomplete));
  json.set("untested", topdown::kernel_uses_json(suite.untested));
}

}  // namespace tapml::cli
