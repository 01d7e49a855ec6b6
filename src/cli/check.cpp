#include "cli/check.h"

#include "topdown/device_check/device_check.h"
#include "topdown/report/verdict_lines.h"

namespace tapml::cli {

bool check_device(runtime::Session& session, const target::Target& target, const Output& output,
                  Json& json) {
  std::vector<Json> list;
  bool passed = true;
  topdown::check_device(session, target, [&](const topdown::DeviceCheck& check) {
    passed &= check.passed();
    output.line("  " + std::string(check.passed() ? "ok      " : "FAILED  ") + check.name +
                (check.passed() ? "" : ": " + check.found));
    Json item = Json::object(
        {{"check", Json::string(check.name)}, {"passed", Json::boolean(check.passed())}});
    if (!check.passed()) item.set("found", Json::string(check.found));
    list.push_back(std::move(item));
  });
  json.set("checks", Json::array(std::move(list)));
  json.set("passed", Json::boolean(passed));
  return passed;
}

int conclude_checks(int64_t passed, int64_t checks, int64_t devices, const Output& output) {
  const topdown::VerdictLine verdict = topdown::device_verdict_line(passed, checks, devices);
  output.last_line(verdict.text());
  return verdict.passed() ? kDone : kDifference;
}

}  // namespace tapml::cli
