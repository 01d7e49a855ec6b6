// Formats expected integers in messages, and where symbolic variables got their values. Shared by
// the interpreter and the virtual machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tapml {

// Where a function call gives a symbolic variable its value.
struct SymbolSource {
  std::string name;        // "n"
  std::string expression;  // the dimension's expression; empty: the variable alone
  std::string place;       // "dimension 0 of parameter x"; empty: unknown

  bool operator==(const SymbolSource&) const = default;
};

// "n is dimension 0 of parameter x", or "n + 1 is dimension 0 of parameter x"; with a value "n = 4
// is dimension 0 of parameter x", or "n = 4 as n + 1 is dimension 0 of parameter x".
std::string source_text(const SymbolSource& source, std::optional<int64_t> value);

// "n + 1 = 4" for the expression "n + 1" of value 4; only the expression if it is "4" or "1 or 4".
std::string expected_text(const std::string& expression, int64_t value);

// The same, followed by the sources, in parentheses, of those `symbols` that the expression names,
// in its order: "n + 1 = 4 (n = 3 is dimension 0 of parameter x)".
struct SymbolValue {
  SymbolSource source;
  int64_t value = 0;
};
std::string expected_with_sources(const std::string& expression, int64_t value,
                                  const std::vector<SymbolValue>& symbols);

// Adds the place, and the expression with its sources, to `error`, an arithmetic error of the value
// of `expression` at `place`.
Error without_value(Error error, const std::string& place, const std::string& expression,
                    const std::vector<SymbolValue>& symbols);

// The error for a symbolic variable of `function` above its maximum.
Error above_bound(const SymbolSource& source, const std::string& function, int64_t value,
                  int64_t most);

}  // namespace tapml
