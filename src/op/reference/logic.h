// References of op/logic.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule logical_and, logical_or, logical_xor, logical_not;
Rule bitwise_and, bitwise_or, bitwise_xor, bitwise_not;
Rule left_shift, right_shift;

}  // namespace tapml::op::reference
