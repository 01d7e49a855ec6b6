// Tail calls: calls whose value a function returns unchanged.
#pragma once

#include "relax/expr.h"

namespace tapml::relax {

// The last binding of a sequence if it is the sequence's result and no match_cast; else null.
const Binding* returned_binding(const SeqNode& seq);

// Whether the binding calls a function whose result needs no check before a function with result
// annotation `result` returns it.
bool is_tail_call(const Binding& binding, const Annotation& result);

}  // namespace tapml::relax
