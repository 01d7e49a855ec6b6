#pragma once

#include "device/webgpu/webgpu_context.h"

namespace tapml::device {

std::unique_ptr<runtime::DeviceQueue> create_webgpu_queue(std::shared_ptr<WebGpuContext> context);

}  // namespace tapml::device
