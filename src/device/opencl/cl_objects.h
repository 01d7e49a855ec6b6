// OpenCL handles that release themselves, and OpenCL error codes as errors.
#pragma once

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <memory>
#include <string>
#include <type_traits>

#include "base/result.h"

namespace tapml::device {

struct ClRelease {
  void operator()(cl_context object) const { clReleaseContext(object); }
  void operator()(cl_command_queue object) const { clReleaseCommandQueue(object); }
  void operator()(cl_mem object) const { clReleaseMemObject(object); }
  void operator()(cl_program object) const { clReleaseProgram(object); }
  void operator()(cl_kernel object) const { clReleaseKernel(object); }
  void operator()(cl_event object) const { clReleaseEvent(object); }
};

template <class Handle>
using ClObject = std::unique_ptr<std::remove_pointer_t<Handle>, ClRelease>;

// "CL_OUT_OF_RESOURCES", or the number of an unknown code.
std::string cl_code_name(cl_int code);
// The failure of `call` as a PlatformError with the matching fault; InternalError for a misuse of
// OpenCL, which is a bug in this program.
Error cl_error(cl_int code, const char* call);
// Ok for CL_SUCCESS.
inline Status cl_status(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return {};
  return fail(cl_error(code, call));
}

}  // namespace tapml::device
