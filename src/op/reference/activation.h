// References of op/activation.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule sigmoid, silu, gelu, relu, softplus;

}  // namespace tapml::op::reference
