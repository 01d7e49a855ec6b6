// References of op/rounding.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule negative, abs, sign, square, floor, ceil, round, trunc, clip;

}  // namespace tapml::op::reference
