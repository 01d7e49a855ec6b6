// WebGPU of the browser, through the host's imports.
#pragma once

#include <functional>
#include <memory>

#include "device/webgpu/gpu.h"

namespace tapml::worker {

// `poll` is called now and then during a wait.
std::shared_ptr<device::Gpu> make_host_gpu(std::function<void()> poll);

}  // namespace tapml::worker
