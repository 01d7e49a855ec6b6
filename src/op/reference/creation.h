// References of op/creation.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule arange, eye, tril, triu, zeros_like, ones_like, copy, shape_of;

}  // namespace tapml::op::reference
