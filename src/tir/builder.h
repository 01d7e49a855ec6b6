// Builds tensor programs in C++: one block per output, with loops made from its iterators.
#pragma once

#include <functional>

#include "tir/prim_func.h"

namespace tapml::tir {

// out[i...] = value(i...), one spatial iterator per dimension of `out`, loops around it.
Stmt compute(const std::string& name, const Buffer& out,
             const std::function<PrimExpr(const std::vector<Var>&)>& value);

// out[i...] = init, then for each r: out[i...] = combine(out[i...], term(i..., r...)).
// `reduce_extents` gives the reduction loops, inside the spatial ones.
Stmt reduce(const std::string& name, const Buffer& out, const Dims& reduce_extents, PrimExpr init,
            const std::function<PrimExpr(PrimExpr accumulated, PrimExpr term)>& combine,
            const std::function<PrimExpr(const std::vector<Var>&, const std::vector<Var>&)>& term);

// A block with given spatial extents and a free body (for scatter-like writes).
Stmt block(const std::string& name, const Dims& extents,
           const std::function<Stmt(const std::vector<Var>&)>& body);

}  // namespace tapml::tir
