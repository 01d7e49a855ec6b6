// How messages say what an integer was expected to be, and where symbolic variables got their
// values. The interpreter and the virtual machine speak alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tapml {

// Where a call of a function gives a symbolic variable its value.
struct SymbolSource {
  std::string name;        // "n"
  std::string expression;  // what the place says; empty: the variable alone
  std::string place;       // "dimension 0 of parameter x"; empty: nobody knows

  bool operator==(const SymbolSource&) const = default;
};

// "n is dimension 0 of parameter x", or "n + 1 is dimension 0 of parameter x"; with a value "n = 4
// is dimension 0 of parameter x", or "n = 4 as n + 1 is dimension 0 of parameter x".
std::string source_text(const SymbolSource& source, std::optional<int64_t> value);

// "n + 1 = 4" for the expression "n + 1" of value 4; "4" and "1 or 4" say it already.
std::string expected_text(const std::string& expression, int64_t value);

// The same with the sources, in brackets, of those of `symbols` that the expression names, in its
// order: "n + 1 = 4 (n = 3 is dimension 0 of parameter x)".
struct SymbolValue {
  SymbolSource source;
  int64_t value = 0;
};
std::string expected_with_sources(const std::string& expression, int64_t value,
                                  const std::vector<SymbolValue>& symbols);

// `error` is what arithmetic says of the value that `expression` has at `place`: the place and, in
// what was found, the expression with its sources are added.
Error without_value(Error error, const std::string& place, const std::string& expression,
                    const std::vector<SymbolValue>& symbols);

// A symbolic variable of function `function` is above the most that it may be.
Error above_bound(const SymbolSource& source, const std::string& function, int64_t value,
                  int64_t most);

}  // namespace tapml
