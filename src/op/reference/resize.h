// References of resizing.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op::reference {

// Resizes [batch, channels, height, width] to the output's height and width.
void resize(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
