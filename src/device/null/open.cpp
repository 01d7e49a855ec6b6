#include "device/open.h"

#include "device/null/null_device.h"

namespace tapml::device {

OpenedDevice open_null(const OpenOptions&) noexcept { return std::make_shared<NullDevice>(); }

}  // namespace tapml::device
