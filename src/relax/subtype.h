// What needs no check at run time.
#pragma once

#include <functional>

#include "relax/annotation.h"

namespace tapml::relax {

// Whether two symbolic integers are always equal, as far as whoever asks can prove.
using ProveEqual = std::function<bool(const PrimExpr&, const PrimExpr&)>;
// Whatever the variables are, negative ones too.
bool always_equal(const PrimExpr& a, const PrimExpr& b);

// Whether every value of annotation `found` has annotation `declared`. Of functions: that they take
// as many arguments and have no effects that `declared` excludes; what they take they check
// themselves, and what a function value returns is checked where it is called.
bool is_subtype(const Annotation& found, const Annotation& declared,
                const ProveEqual& equal = always_equal);

}  // namespace tapml::relax
