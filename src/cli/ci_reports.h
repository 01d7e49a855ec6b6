// --junit and --markdown of the commands that test kernels.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/ci_report.h"

namespace CLI {
class App;
}

namespace tapml::cli {

struct CiReportOptions {
  std::string junit, markdown;
  void add_to(CLI::App& command);
  // Throws early if one of the files cannot be written.
  void check() const;
  void write(const std::vector<topdown::CiReport>& reports) const;
  void write(const topdown::CiReport& report) const { write(std::vector{report}); }
};

}  // namespace tapml::cli
