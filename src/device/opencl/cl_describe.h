// Which OpenCL devices there are and what they can do.
#pragma once

#include <vector>

#include "abi/device_info.h"
#include "device/opencl/cl_objects.h"

namespace tapml::device {

struct ClDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_device_type type = 0;
};

// All devices, in the order of the loader. Empty where no driver is installed.
Result<std::vector<ClDevice>> find_cl_devices();
// The one to use where the user names none; `devices` is not empty.
const ClDevice& best_cl_device(const std::vector<ClDevice>& devices);
DeviceInfo describe_cl_device(const ClDevice& device);
// What a built program depends on beside its source: the platform, the device, their versions and
// the driver's.
std::string cl_build_identity(const ClDevice& device);

// A number that the driver says about a device; 0 where it says nothing.
template <class T>
T cl_device_number(cl_device_id device, cl_device_info what) {
  T value{};
  if (clGetDeviceInfo(device, what, sizeof(value), &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

}  // namespace tapml::device
