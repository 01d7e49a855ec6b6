// Launches as commands.
#pragma once

#include "device/webgpu/webgpu_module.h"

namespace tapml::device {

// WebGPU refuses a launch in which buffers that may be written overlap. A buffer that is only read
// is copied if its memory is another one's too; an InternalError if two are written there. The
// launch has no sizes of its buffers: each one ends where the next one of the same memory begins.
Status add_launch(WebGpuContext& context, WebGpuKernel& kernel, const runtime::LaunchArgs& args);

}  // namespace tapml::device
