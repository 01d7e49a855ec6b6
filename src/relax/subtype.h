// Subtyping of annotations: a value of a subtype needs no check at run time.
#pragma once

#include <functional>

#include "relax/annotation.h"

namespace tapml::relax {

// Whether two symbolic integers are provably always equal.
using ProveEqual = std::function<bool(const PrimExpr&, const PrimExpr&)>;
// Proves equality for all values of the variables, including negative ones.
bool always_equal(const PrimExpr& a, const PrimExpr& b);

// Whether every value of annotation `found` has annotation `declared`. Functions must take the same
// number of arguments and have no effects that `declared` excludes; they check their arguments
// themselves, and the result of a function value is checked at the call.
bool is_subtype(const Annotation& found, const Annotation& declared,
                const ProveEqual& equal = always_equal);

}  // namespace tapml::relax
