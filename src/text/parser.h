// Text to module: the inverse of text/printer.h. It builds exactly the nodes as written and deduces
// nothing. docs/text-format.md has the grammar.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/module.h"
#include "relax/expr.h"
#include "text/common.h"
#include "text/source_map.h"

namespace tapml::text {

struct ParseOptions {
  // Where constants that are written as a content hash are looked up.
  const SideTensors* side = nullptr;
  // If false, a name stays usable after its scope ends, for tests of programs that the verifier
  // must reject.
  bool scoped = true;
  // If given, filled with the locations of functions and bindings.
  SourceMap* places = nullptr;
  // Looks up operators that are not in the table (op/operator.h); null for a name that is none.
  std::function<const op::OperatorInfo*(const std::string& name)> find_operator;
};

// `file_name` names the text in messages. A UserError has file:line:col, the source line with a
// caret at the error, what was expected and what was found.
Module parse(std::string_view source, std::string_view file_name, ParseOptions options = {});

}  // namespace tapml::text
