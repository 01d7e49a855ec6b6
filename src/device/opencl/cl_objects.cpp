#include "device/opencl/cl_objects.h"

#include <array>

namespace tapml::device {

namespace {

struct CodeInfo {
  cl_int code;
  const char* name;
  PlatformFault fault;  // kNone: a misuse of OpenCL
};

// The loader returns this if no driver is installed (cl_khr_icd).
constexpr cl_int kPlatformNotFound = -1001;

constexpr auto kCodes = std::to_array<CodeInfo>({
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND", PlatformFault::kAbsent},
    {kPlatformNotFound, "CL_PLATFORM_NOT_FOUND_KHR", PlatformFault::kAbsent},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE", PlatformFault::kAbsent},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE", PlatformFault::kLost},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
     PlatformFault::kLost},
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE", PlatformFault::kLost},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE",
     PlatformFault::kOutOfMemory},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", PlatformFault::kOutOfMemory},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY", PlatformFault::kOutOfMemory},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE", PlatformFault::kLimit},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE", PlatformFault::kLimit},
    {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE", PlatformFault::kLimit},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE", PlatformFault::kLimit},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE", PlatformFault::kNone},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE", PlatformFault::kNone},
    {CL_INVALID_KERNEL, "CL_INVALID_KERNEL", PlatformFault::kNone},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME", PlatformFault::kNone},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS", PlatformFault::kNone},
    {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX", PlatformFault::kNone},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE", PlatformFault::kNone},
    {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE", PlatformFault::kNone},
    {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT", PlatformFault::kNone},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE", PlatformFault::kNone},
});

const CodeInfo* find_code(cl_int code) {
  for (const CodeInfo& info : kCodes) {
    if (info.code == code) return &info;
  }
  return nullptr;
}

}  // namespace

std::string cl_code_name(cl_int code) {
  const CodeInfo* info = find_code(code);
  return info ? info->name : "OpenCL error " + std::to_string(code);
}

Error cl_error(cl_int code, const char* call) {
  const CodeInfo* info = find_code(code);
  std::string message =
      std::string("the OpenCL driver fails in ") + call + ": " + cl_code_name(code);
  if (!info || info->fault == PlatformFault::kNone) return internal_error(message, "opencl");
  const char* hint = info->fault == PlatformFault::kAbsent
                         ? "install a driver: the package pocl-opencl-icd (runs on the processor) "
                           "or that of the GPU's vendor"
                         : "";
  return platform_error(info->fault, message, "opencl", hint);
}

}  // namespace tapml::device
