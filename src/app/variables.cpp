#include "app/variables.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/strings.h"
#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "relax/bounds.h"

namespace tapml::app {

namespace {

// Variables of kernels are internal to the compiler: values and bounds do not apply to them.
std::set<std::string> variables_of(const Module& module) {
  std::set<std::string> names;
  for (const auto& [name, function] : passes::graph_functions(module)) {
    names.merge(relax::symbol_names(*function));
  }
  return names;
}

}  // namespace

void add_bounds(const std::map<std::string, int64_t>& bounds, Module& module) {
  for (const auto& [name, most] : bounds) {
    const auto [known, added] = module.facts.bounds.emplace(name, most);
    if (!added) known->second = std::min(most, known->second);
  }
}

void check_variables(const std::map<std::string, int64_t>& values, const std::string& option,
                     const Module& module, const Module& planned) {
  if (values.empty()) return;
  const std::set<std::string> known = variables_of(module);
  std::set<std::string> more = variables_of(planned);
  for (const auto& [name, value] : values) {
    if (known.contains(name) || more.contains(name)) continue;
    throw_user("no function of the module has this symbolic variable", option,
               known.empty() ? "nothing: every shape is known" : join(known), name);
  }
}

void warn_of_unused_bounds(const Module& module, const Module& planned, const std::string& source) {
  std::set<std::string> known = variables_of(module);
  known.merge(variables_of(planned));
  for (const auto& [name, most] : module.facts.bounds) {
    if (known.contains(name)) continue;
    log_warning(source + ": bound." + name +
                " bounds nothing: no function of the module has a symbolic " + "variable " + name);
  }
}

}  // namespace tapml::app
