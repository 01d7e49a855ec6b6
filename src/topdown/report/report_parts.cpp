#include "topdown/report/report_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/strings.h"
#include "base/units.h"

namespace tapml::topdown {

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, value != 0 ? "%.2e" : "0", value);
  return text;
}

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", value);
  return text;
}

std::string tests_text(const std::vector<KernelVerdict>& verdicts) {
  const auto groups = std::ranges::count_if(
      verdicts, [](const KernelVerdict& verdict) { return verdict.group.has_value(); });
  const auto kernels = std::ssize(verdicts) - groups;
  const std::string text = counted(groups, "group");
  if (groups > 0 && kernels == 0) return text;
  return counted(kernels, "kernel") + (groups > 0 ? " and " + text : "");
}

std::string shapes_text(const KernelVerdict& verdict) {
  std::string text;
  size_t shown = 0;
  for (const std::string& shape : verdict.shapes) {
    if (shown++ == 2) return text + " +" + std::to_string(verdict.shapes.size() - 2);
    text += (text.empty() ? "" : " ") + shape;
  }
  return text;
}

std::string used_in(const std::set<std::string>& functions) {
  if (functions == std::set<std::string>{"decode", "prefill"}) return "both";
  return join(functions, "+");
}

std::string used_in(const std::vector<CallGroup>& groups) {
  std::set<std::string> functions;
  for (const CallGroup& group : groups) {
    if (!group.function.empty()) functions.insert(group.function);
  }
  return used_in(functions);
}

std::string used_in(const KernelVerdict& verdict) { return used_in(verdict.groups); }

std::string layers_text(const KernelVerdict& verdict) { return layers_text(verdict.origin); }

std::string layers_text(const Origin& origin) {
  std::string text = layers_summary(origin);
  // Omit the common prefix of a model's layers.
  for (size_t at; (at = text.find("model.")) != std::string::npos;) text.erase(at, 6);
  return text;
}

}  // namespace tapml::topdown
