// The f64 rules of op/indexing.cpp and op/scatter.cpp. A negative index counts from the end; one
// that is outside reads 0 and writes nothing. Where an index is not settled within its bound,
// everything that it may read or write is open.
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
