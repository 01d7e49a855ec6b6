// References of op/cast.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule cast;

}  // namespace tapml::op::reference
