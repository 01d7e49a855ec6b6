#include "device/open.h"

#include "device/cpu/cpu_device.h"

namespace tapml::device {

OpenedDevice open_cpu(const OpenOptions& options) noexcept {
  return std::make_shared<CpuDevice>(options.threads, options.loader, options.libraries,
                                     options.under_test);
}

}  // namespace tapml::device
