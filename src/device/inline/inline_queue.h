// A queue whose work is done when the call that enqueues it returns.
#pragma once

#include <memory>

#include "device/inline/inline_kernel.h"

namespace tapml::device {

// For memory that the host can address and kernels of type InlineKernel; `shares` runs them.
std::unique_ptr<runtime::DeviceQueue> inline_queue(std::unique_ptr<Shares> shares);

}  // namespace tapml::device
