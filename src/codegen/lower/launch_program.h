// A launch as a tensor program: for people, and for what checks tensor programs.
#pragma once

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// One loop over the launch's items, parallel or over work groups, with the launch's body; of the
// launch's buffers and scalars. It is what the launch computes, in the types of its indices.
tir::PrimFuncRef launch_program(const DeviceFunc& launch);

}  // namespace tapml::codegen
