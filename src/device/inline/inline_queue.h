// A queue whose work is done when the call that enqueues it returns.
#pragma once

#include <memory>

#include "device/inline/inline_kernel.h"

namespace tapml::device {

// Of memory that the host addresses, and kernels that are InlineKernel; `shares` runs them.
std::unique_ptr<runtime::DeviceQueue> inline_queue(std::unique_ptr<Shares> shares);

}  // namespace tapml::device
