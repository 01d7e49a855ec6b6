#include "topdown/suite/kernel_names.h"

#include <algorithm>

#include "base/glob.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"

namespace tapml::topdown {

namespace {

constexpr size_t kHashDigits = 8;
constexpr size_t kMostSuggested = 3;

bool is_pattern(std::string_view text) { return text.find_first_of("*?") != text.npos; }

[[noreturn]] void throw_unknown(const std::vector<std::string>& names, const std::string& wanted,
                                const KernelQuestion& asked) {
  throw_user(asked.owner + " has no such kernel", asked.where,
             names.empty()
                 ? "a kernel; there is none"
                 : "one of " + join(names) + " (a name, its beginning, or a pattern with * and ?)",
             "\"" + wanted + "\"", kernel_suggestion(wanted, names));
}

}  // namespace

std::vector<std::string> kernel_names(const Suite& suite) {
  std::vector<std::string> names;
  for (const SuiteKernel& kernel : suite.kernels) names.push_back(kernel.name);
  return names;
}

std::vector<std::string> kernel_names(const Module& fixed) {
  std::vector<std::string> names;
  for (const auto& [name, function] : fixed.functions) {
    if (passes::is_kernel(function.get())) names.push_back(name);
  }
  return names;
}

std::string_view operators_in(std::string_view kernel) {
  if (kernel.size() <= kHashDigits + 1) return kernel;
  const size_t length = kernel.size() - kHashDigits - 1;
  const bool hashed = kernel[length] == '_' &&
                      kernel.find_first_not_of("0123456789abcdef", length + 1) == kernel.npos;
  return hashed ? kernel.substr(0, length) : kernel;
}

bool means_kernel(std::string_view wanted, std::string_view kernel) {
  if (wanted.empty()) return false;
  return is_pattern(wanted) ? glob_matches(wanted, kernel) : kernel.starts_with(wanted);
}

std::vector<std::string> kernels_meant(const std::vector<std::string>& names,
                                       std::string_view wanted) {
  if (std::ranges::find(names, wanted) != names.end()) return {std::string(wanted)};
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (means_kernel(wanted, name)) found.push_back(name);
  }
  return found;
}

std::string find_kernel(const std::vector<std::string>& names, const std::string& wanted,
                        const KernelQuestion& asked) {
  std::vector<std::string> found = kernels_meant(names, wanted);
  if (found.size() == 1) return found[0];
  if (found.empty()) throw_unknown(names, wanted, asked);
  throw_user("the name matches several kernels of " + asked.owner, asked.where,
             "one of " + join(found), "\"" + wanted + "\"");
}

std::vector<std::string> find_kernels(const std::vector<std::string>& names,
                                      const std::string& wanted, const KernelQuestion& asked) {
  std::vector<std::string> found = kernels_meant(names, wanted);
  if (found.empty()) throw_unknown(names, wanted, asked);
  return found;
}

std::string kernel_suggestion(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string_view operators = operators_in(wanted);
  std::vector<std::string_view> candidates(names.begin(), names.end());
  for (const std::string& name : names) candidates.push_back(operators_in(name));
  std::string nearest = nearest_name(wanted, candidates);
  // A hash that no kernel has is worth less than the operators before it.
  const bool same = std::ranges::any_of(
      names, [&](const std::string& name) { return operators_in(name) == operators; });
  if (same) nearest = std::string(operators);
  if (nearest.empty()) nearest = longer_name(operators, candidates);
  if (nearest.empty()) return "";
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (name == nearest || operators_in(name) == operators_in(nearest)) found.push_back(name);
  }
  if (found.size() > kMostSuggested) found.resize(kMostSuggested);
  std::string text;
  for (size_t i = 0; i < found.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == found.size() ? " or " : ", ") + ("'" + found[i] + "'");
  }
  return "did you mean " + text + "?";
}

}  // namespace tapml::topdown
