// What the interpreter and the virtual machine say of a tensor that cannot be made.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "abi/expected_text.h"

namespace tapml {

// `error` says that a dimension is negative: where the variables in it got their values is added.
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
