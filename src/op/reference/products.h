// References of products of tensors beyond matmul.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op::reference {

void outer(const AttrMap& attrs, Args args, Outputs outputs);
void linear(const AttrMap& attrs, Args args, Outputs outputs);
void gather_matmul(const AttrMap& attrs, Args args, Outputs outputs);
void einsum(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
