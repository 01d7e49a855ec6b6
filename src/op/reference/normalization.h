// References of op/softmax.cpp and op/normalization.cpp.
#pragma once

#include "op/reference/reduction.h"

namespace tapml::op::reference {

Rule softmax, log_softmax;
Rule rms_norm, layer_norm, group_norm, instance_norm, batch_norm;

}  // namespace tapml::op::reference
