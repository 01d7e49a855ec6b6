// A launch as a tensor program, for printing and for analyses of tensor programs.
#pragma once

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// One loop over the launch's items, parallel or over work groups, around the launch's body, with
// the launch's buffers and scalars. Computes what the launch computes, with its index types.
tir::PrimFuncRef launch_program(const DeviceFunc& launch);

}  // namespace tapml::codegen
