#include "device/opencl/cl_describe.h"

#include <algorithm>

namespace tapml::device {

namespace {

std::string device_text(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (clGetDeviceInfo(device, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

bool has_extension(const std::string& extensions, const std::string& name) {
  return (" " + extensions + " ").find(" " + name + " ") != std::string::npos;
}

int rank_of(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return 2;
  if (type & CL_DEVICE_TYPE_ACCELERATOR) return 1;
  return 0;
}

Limits limits_of(cl_device_id device) {
  // Bytes of argument memory per buffer: an address and an offset.
  constexpr int64_t kBytesPerBuffer = sizeof(cl_mem) + sizeof(cl_long);
  Limits limits;
  auto most =
      static_cast<int64_t>(cl_device_number<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  limits.max_workgroup_threads =
      static_cast<int64_t>(cl_device_number<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  limits.max_local_memory =
      static_cast<int64_t>(cl_device_number<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE));
  limits.max_binding_bytes = most;
  limits.max_allocation_bytes = most;
  limits.max_bindings =
      static_cast<int64_t>(cl_device_number<size_t>(device, CL_DEVICE_MAX_PARAMETER_SIZE)) /
      kBytesPerBuffer;
  limits.threads =
      std::max<int64_t>(1, cl_device_number<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS));
  return limits;
}

bool is_exact_in_f16(cl_device_id device) {
  constexpr cl_device_fp_config kExact = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST;
  const auto has = cl_device_number<cl_device_fp_config>(device, CL_DEVICE_HALF_FP_CONFIG);
  return (has & kExact) == kExact;
}

Features features_of(cl_device_id device) {
  std::string extensions = device_text(device, CL_DEVICE_EXTENSIONS);
  Features features;
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    auto dtype = static_cast<DType>(i);
    if (dtype == DType::kF64) {
      auto support = cl_device_number<cl_device_fp_config>(device, CL_DEVICE_DOUBLE_FP_CONFIG);
      if (support == 0) continue;
    }
    // All devices store half floats with vload_half and vstore_half, and bfloat16 as bits.
    features.storage_dtypes.insert(dtype);
    if (dtype == DType::kBF16) continue;
    if (dtype == DType::kF16 &&
        !(has_extension(extensions, "cl_khr_fp16") && is_exact_in_f16(device))) {
      continue;
    }
    features.compute_dtypes.insert(dtype);
  }
  features.local_memory = true;
  return features;
}

}  // namespace

Result<std::vector<ClDevice>> find_cl_devices() {
  std::vector<ClDevice> devices;
  cl_uint platform_count = 0;
  cl_int code = clGetPlatformIDs(0, nullptr, &platform_count);
  if (code != CL_SUCCESS) {
    Error error = cl_error(code, "clGetPlatformIDs");
    if (error.fault == PlatformFault::kAbsent) return devices;
    return fail(std::move(error));
  }
  std::vector<cl_platform_id> platforms(platform_count);
  TAPML_TRY(
      cl_status(clGetPlatformIDs(platform_count, platforms.data(), nullptr), "clGetPlatformIDs"));
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    // A driver without devices returns an error.
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(count);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS) {
      continue;
    }
    for (cl_device_id id : ids) {
      devices.push_back({platform, id, cl_device_number<cl_device_type>(id, CL_DEVICE_TYPE)});
    }
  }
  return devices;
}

const ClDevice& best_cl_device(const std::vector<ClDevice>& devices) {
  return *std::max_element(
      devices.begin(), devices.end(),
      [](const ClDevice& a, const ClDevice& b) { return rank_of(a.type) < rank_of(b.type); });
}

DeviceInfo describe_cl_device(const ClDevice& device) {
  DeviceInfo info;
  info.platform = "opencl";
  info.name = device_text(device.device, CL_DEVICE_NAME);
  info.version = device_text(device.device, CL_DEVICE_VERSION);
  const std::string driver = device_text(device.device, CL_DRIVER_VERSION);
  if (!driver.empty()) info.version += ", driver " + driver;
  info.kind = (device.type & CL_DEVICE_TYPE_CPU) != 0   ? DeviceKind::kProcessor
              : (device.type & CL_DEVICE_TYPE_GPU) != 0 ? DeviceKind::kGpu
                                                        : DeviceKind::kUnknown;
  info.limits = limits_of(device.device);
  info.features = features_of(device.device);
  return info;
}

std::string cl_build_identity(const ClDevice& device) {
  std::string text;
  for (cl_platform_info what : {CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, CL_PLATFORM_VERSION}) {
    size_t size = 0;
    if (clGetPlatformInfo(device.platform, what, 0, nullptr, &size) != CL_SUCCESS) size = 0;
    std::string part(size, '\0');
    if (size > 0) clGetPlatformInfo(device.platform, what, size, part.data(), nullptr);
    text += part + "\n";
  }
  for (cl_device_info what : {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION,
                              CL_DRIVER_VERSION, CL_DEVICE_EXTENSIONS}) {
    text += device_text(device.device, what) + "\n";
  }
  return text;
}

}  // namespace tapml::device
