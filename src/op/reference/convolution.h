// References of convolutions over any number of spatial dimensions.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op::reference {

void convolution(const AttrMap& attrs, Args args, Outputs outputs);
void transposed_convolution(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
