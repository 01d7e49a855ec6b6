// References of op/predicates.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule isnan, isinf, isfinite;
Rule equal, not_equal, less, less_equal, greater, greater_equal;
Rule where;

}  // namespace tapml::op::reference
