#include "judging.h"

#include <filesystem>

#include "app/command_options.h"
#include "base/log.h"
#include "topdown/kernels/user_kernels.h"

namespace tapml::python {

topdown::Tolerances ToleranceText::parse() const {
  return text.empty() ? topdown::Tolerances() : topdown::Tolerances::parse(text, name);
}

void ToleranceText::warn_unused(const topdown::Tolerances& tolerances,
                                const std::set<std::string>& kernels) const {
  for (const std::string& text : tolerances.unused_texts(kernels)) log_warning(name + ": " + text);
}

ToleranceText tolerance_text_of(const std::pair<std::string, std::string>& given) {
  return {given.first, given.second};
}

std::vector<topdown::UserSource> sources_of(const std::string& folder,
                                            const target::Target& target) {
  if (folder.empty()) return {};
  return topdown::read_user_sources(folder, target);
}

topdown::CommandOptions options_of_commands(const OpenSession& target, const std::string& kernels,
                                            const ToleranceText& tolerance,
                                            const app::IsolationOptions& isolation) {
  topdown::CommandOptions options =
      app::command_options(target.libraries(), target.remote(), isolation);
  options.kernels = kernels;
  std::error_code ignored;
  if (!tolerance.text.empty() && std::filesystem::is_regular_file(tolerance.name, ignored)) {
    options.tolerance = tolerance.name;
  }
  return options;
}

}  // namespace tapml::python
