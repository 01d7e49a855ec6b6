// The f64 rules of op/arrange.cpp and op/region.cpp: they move elements exactly.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op::reference {

// expand_dims, squeeze, flatten: copy the elements in order.
void same_elements(const AttrMap& attrs, Args args, Outputs outputs);
void broadcast_to(const AttrMap& attrs, Args args, Outputs outputs);
void flip(const AttrMap& attrs, Args args, Outputs outputs);
void roll(const AttrMap& attrs, Args args, Outputs outputs);
void tile(const AttrMap& attrs, Args args, Outputs outputs);
void repeat(const AttrMap& attrs, Args args, Outputs outputs);
void stack(const AttrMap& attrs, Args args, Outputs outputs);
void swap_axes(const AttrMap& attrs, Args args, Outputs outputs);
void move_axis(const AttrMap& attrs, Args args, Outputs outputs);

void strided_slice(const AttrMap& attrs, Args args, Outputs outputs);
void dynamic_slice(const AttrMap& attrs, Args args, Outputs outputs);
void dynamic_update_slice(const AttrMap& attrs, Args args, Outputs outputs);
void pad(const AttrMap& attrs, Args args, Outputs outputs);
void depth_to_space(const AttrMap& attrs, Args args, Outputs outputs);
void space_to_depth(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace tapml::op::reference
