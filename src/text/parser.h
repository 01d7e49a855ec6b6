// Text to module: the inverse of text/printer.h. It builds exactly the nodes that are written and
// never deduces. docs/text-format.md holds the grammar.
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
  // Where constants that stand as a content hash are looked up.
  const SideTensors* side = nullptr;
  // False: a name stays usable after its scope has ended. For tests that write programs which the
  // verifier must refuse.
  bool scoped = true;
  // Where given: filled with the places of functions and bindings.
  SourceMap* places = nullptr;
  // Looks up operators that are not in the table (op/operator.h); null for a name that is none.
  std::function<const op::OperatorInfo*(const std::string& name)> find_operator;
};

// `file_name` names the text in messages. UserError with file:line:col, the source line and a caret
// where it stops making sense, what was expected there and what was found.
Module parse(std::string_view source, std::string_view file_name, ParseOptions options = {});

}  // namespace tapml::text
