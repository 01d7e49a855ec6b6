#include "cli/shapes.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "ir/exceptions.h"
#include "passes/specialize.h"

namespace tapml::cli {

void ShapeOptions::add_to(CLI::App& command) {
  command.add_option("--bind", bindings, "Values of symbolic variables, such as main.n=128")
      ->delimiter(',');
}

Module ShapeOptions::apply(const Module& module) const {
  passes::ShapeValues values;
  for (const std::string& binding : bindings) {
    const size_t equals = binding.find('=');
    const size_t point = equals == std::string::npos ? equals : binding.rfind('.', equals);
    auto refuse = [&](const char* message) {
      throw_user(message, "--bind", "FUNCTION.VARIABLE=VALUE", binding);
    };
    if (point == std::string::npos || point == 0 || equals == point + 1 ||
        equals + 1 == binding.size()) {
      refuse("a binding cannot be read");
    }
    int64_t value = 0;
    const char* last = binding.data() + binding.size();
    const auto [end, error] = std::from_chars(binding.data() + equals + 1, last, value);
    if (end != last) refuse("a binding cannot be read");
    if (error != std::errc()) refuse("a value is beyond 64-bit integers");
    const std::string variable = binding.substr(point + 1, equals - point - 1);
    if (!values[binding.substr(0, point)].emplace(variable, value).second) {
      throw_user("a variable is bound twice", "--bind", "one value", binding);
    }
  }
  return passes::bind_shapes(module, values);
}

}  // namespace tapml::cli
