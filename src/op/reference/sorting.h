// The f64 rules of op/sorting.cpp and op/selection.cpp.
//
// Sorted values move no further than the elements: position k of the sorted lower ends and position
// k of the sorted upper ends enclose the value at k. An index is certain if its element's interval
// is disjoint from all others (exact elements may be equal, because their order is known); else it
// is unknown.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op::reference {

void sort(const AttrMap& attrs, Args args, Outputs outputs);
void argsort(const AttrMap& attrs, Args args, Outputs outputs);
void topk(const AttrMap& attrs, Args args, Outputs outputs);
void searchsorted(const AttrMap& attrs, Args args, Outputs outputs);

void nonzero(const AttrMap& attrs, Args args, Outputs outputs);
void nonzero_count(const AttrMap& attrs, Args args, Outputs outputs);
void nonzero_fill(const AttrMap& attrs, Args args, Outputs outputs);
void unique(const AttrMap& attrs, Args args, Outputs outputs);
void unique_count(const AttrMap& attrs, Args args, Outputs outputs);
void unique_fill(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
