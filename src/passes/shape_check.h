// Run-time checks of shapes that deduction cannot decide.
#pragma once

#include <string>
#include <vector>

#include "relax/expr.h"

namespace tapml::passes {

// Whether every tensor in `found` provably has the shape that `expected` says (what that leaves
// open is no matter); false where they may differ. UserError, at `where`, where kind, rank, dtype
// or a dimension provably differs.
bool is_shape_certain(const relax::Annotation& found, const relax::Annotation& expected,
                      const std::string& where);

// `arg` where its shape is provably `expected`. Where they may differ, a match_cast to `expected`
// is appended to `before` and its variable, called `name`, is returned: the function then ends with
// a UserError that says what `note` does, the dimension, the expected expression with its value and
// what came. UserError now where is_shape_certain says so.
relax::Expr check_shape(const relax::Expr& arg, const relax::Annotation& expected,
                        const std::string& name, const relax::CheckNote& note, bool dataflow,
                        std::vector<relax::Binding>& before);

}  // namespace tapml::passes
