// The error of the interpreter and of the virtual machine for a tensor with a negative dimension.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "abi/expected_text.h"

namespace tapml {

// Adds to `error`, about a negative dimension, where the variables in it got their values.
inline Error with_sources(Error error, const std::vector<SymbolValue>& symbols) {
  std::string sources;
  for (const SymbolValue& symbol : symbols) {
    if (symbol.source.place.empty()) continue;
    sources += (sources.empty() ? " (" : ", ") + source_text(symbol.source, symbol.value);
  }
  if (!sources.empty()) error.found += sources + ")";
  return error;
}

}  // namespace tapml
