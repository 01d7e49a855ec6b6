// References of pooling over any number of spatial dimensions.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op::reference {

void max_pool(const AttrMap& attrs, Args args, Outputs outputs);
void avg_pool(const AttrMap& attrs, Args args, Outputs outputs);
void adaptive_avg_pool(const AttrMap& attrs, Args args, Outputs outputs);
void adaptive_max_pool(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
