// References of op/arithmetic.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule add, subtract, multiply, divide, floor_divide, trunc_divide, floor_mod, mod, power, maximum,
    minimum;

}  // namespace tapml::op::reference
