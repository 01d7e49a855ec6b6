// Finds OpenCL devices and describes them.
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

// All devices, in the order of the loader. Empty if no driver is installed.
Result<std::vector<ClDevice>> find_cl_devices();
// The default device; `devices` must not be empty.
const ClDevice& best_cl_device(const std::vector<ClDevice>& devices);
DeviceInfo describe_cl_device(const ClDevice& device);
// The dependencies of a built program besides its source: the platform, the device, their versions
// and the driver's.
std::string cl_build_identity(const ClDevice& device);

// A numeric property that the driver reports for a device; 0 if it reports none.
template <class T>
T cl_device_number(cl_device_id device, cl_device_info what) {
  T value{};
  if (clGetDeviceInfo(device, what, sizeof(value), &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

}  // namespace tapml::device
