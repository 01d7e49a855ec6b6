// Run-time checks of shapes that deduction cannot prove.
#pragma once

#include <string>
#include <vector>

#include "relax/expr.h"

namespace tapml::passes {

// Whether every tensor in `found` provably has the shape in `expected` (open parts of it match
// anything); false where they may differ. UserError, at `where`, where kind, rank, dtype or a
// dimension provably differs.
bool is_shape_certain(const relax::Annotation& found, const relax::Annotation& expected,
                      const std::string& where);

// Returns `arg` if its shape is provably `expected`. Where they may differ, appends a match_cast to
// `expected` to `before` and returns its variable, called `name`; at run time a mismatch is a
// UserError with the description in `note`, the dimension, the expected expression with its value,
// and the value found. UserError now where is_shape_certain throws it.
relax::Expr check_shape(const relax::Expr& arg, const relax::Annotation& expected,
                        const std::string& name, const relax::CheckNote& note, bool dataflow,
                        std::vector<relax::Binding>& before);

}  // namespace tapml::passes
