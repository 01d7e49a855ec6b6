// Writes reports for CI (docs/cli.md) to files.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/ci_report.h"

namespace tapml::python {

// Skips reports with an empty file name.
void write_ci_reports(const std::vector<topdown::CiReport>& reports, const std::string& junit,
                      const std::string& markdown);
inline void write_ci_reports(const topdown::CiReport& report, const std::string& junit,
                             const std::string& markdown) {
  write_ci_reports(std::vector{report}, junit, markdown);
}

}  // namespace tapml::python
