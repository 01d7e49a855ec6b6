#include "ci_reports.h"

#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::python {

void write_ci_reports(const std::vector<topdown::CiReport>& reports, const std::string& junit,
                      const std::string& markdown) {
  if (!junit.empty()) unwrap(write_text_atomic(junit, topdown::junit_xml(reports)));
  if (!markdown.empty()) unwrap(write_text_atomic(markdown, topdown::markdown_summary(reports)));
}

}  // namespace tapml::python
