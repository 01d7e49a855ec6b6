// References of op/activation.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule sigmoid, silu, gelu, relu;

}  // namespace tapml::op::reference
