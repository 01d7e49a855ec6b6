// Compares, joins and coarsens annotations.
#pragma once

#include <set>

#include "relax/annotation.h"

namespace tapml::build {

// Symbolic variables by identity.
using SymbolSet = std::set<const tapml::ExprNode*>;

// False if no value can have both annotations: the kind, rank, dtype, field count or a dimension is
// provably different.
bool compatible(const relax::Annotation& a, const relax::Annotation& b);

// relax::is_subtype for symbolic variables that are at least 0.
bool surely_fits(const relax::Annotation& found, const relax::Annotation& expected);

// The most precise annotation that holds for values of both (the join of an if's branches).
relax::Annotation join(const relax::Annotation& a, const relax::Annotation& b);

// Puts every symbolic expression in canonical form.
relax::Annotation simplified(const relax::Annotation& annotation);

// The annotation without symbolic variables outside `visible`: shapes that use others are coarsened
// to their rank.
relax::Annotation restrict_vars(const relax::Annotation& annotation, const SymbolSet& visible);

}  // namespace tapml::build
