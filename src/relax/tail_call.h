// Values that a function returns as they are: what makes a call a tail call.
#pragma once

#include "relax/expr.h"

namespace tapml::relax {

// The last binding of a sequence whose result it is, without a match_cast; null where there is
// none.
const Binding* returned_binding(const SeqNode& seq);

// Whether the binding calls a function whose result needs no check before it is that of a function
// of annotation `result`.
bool is_tail_call(const Binding& binding, const Annotation& result);

}  // namespace tapml::relax
