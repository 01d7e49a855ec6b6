// The f64 rules of op/indexing.cpp and op/scatter.cpp. A negative index counts from the end; an
// index out of range reads 0 and writes nothing. If an index is uncertain, every element that it
// may read or write is unknown.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op::reference {

void take(const AttrMap& attrs, Args args, Outputs outputs);
void gather(const AttrMap& attrs, Args args, Outputs outputs);
void gather_nd(const AttrMap& attrs, Args args, Outputs outputs);
void one_hot(const AttrMap& attrs, Args args, Outputs outputs);

void scatter(const AttrMap& attrs, Args args, Outputs outputs);
void scatter_add(const AttrMap& attrs, Args args, Outputs outputs);
void scatter_nd(const AttrMap& attrs, Args args, Outputs outputs);
void index_put(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
