#include "device/open.h"

#include "device/opencl/opencl_device.h"

namespace tapml::device {

OpenedDevice open_opencl(const OpenOptions& options) noexcept {
  OpenClOptions opencl;
  opencl.device = options.number;
  if (options.open_cache) opencl.programs = options.open_cache();
  return create_opencl_device(opencl);
}

}  // namespace tapml::device
