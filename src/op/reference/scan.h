// References of op/scan.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule cumsum, cumprod;

}  // namespace tapml::op::reference
