#include "base/hash.h"
#include "device/opencl/cl_context.h"

namespace tapml::device {

namespace {

using runtime::DeviceKernel;
using runtime::DeviceModule;

constexpr size_t kLogLines = 20;
// Appears in every source that uses subgroups (codegen/source/opencl_c.cpp).
constexpr std::string_view kSubgroups = "TAPML_SUBGROUPS";
constexpr std::string_view kBarrier = "barrier(";
// Part of a cached program's key, next to the driver's versions.
constexpr const char* kKeyVersion = "opencl-program-1";

// PoCL (3.1, on processors) optimizes a kernel as single-thread code before it splits it at
// barriers into loops over all threads: it merges and splits branches around barriers and hoists
// them out of loops, after which threads meet at different barriers.
bool moves_barriers(const ClDevice& on) {
  char version[128] = {};  // "OpenCL 3.0 PoCL HSTR: ..."
  return (on.type & CL_DEVICE_TYPE_CPU) != 0 &&
         clGetDeviceInfo(on.device, CL_DEVICE_VERSION, sizeof(version) - 1, version, nullptr) ==
             CL_SUCCESS &&
         std::string_view(version).find("PoCL") != std::string_view::npos;
}

// The language version is 1.2, which every device supports, unless the source uses subgroups: their
// extensions require 2.0, if the device has it.
std::string build_options(const ClDevice& on, std::span<const std::byte> source) {
  const std::string_view text(reinterpret_cast<const char*>(source.data()), source.size());
  cl_device_id device = on.device;
  char version[64] = {};  // "OpenCL C 2.0 ..."
  const bool is_known = clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_VERSION, sizeof(version) - 1,
                                        version, nullptr) == CL_SUCCESS;
  std::string language = "1.2";
  if (is_known && text.find(kSubgroups) != std::string_view::npos) {
    for (const char* newer : {"2.0", "3.0"}) {
      if (std::string_view(version).starts_with(std::string("OpenCL C ") + newer)) language = newer;
    }
  }
  const bool unoptimized = text.find(kBarrier) != std::string_view::npos && moves_barriers(on);
  // By default the language lets quotients and square roots be off by a bit or two.
  cl_device_fp_config floats = 0;
  const bool rounds = clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats,
                                      nullptr) == CL_SUCCESS &&
                      (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  return "-cl-std=CL" + language + " -w" +
         (rounds ? " -cl-fp32-correctly-rounded-divide-sqrt" : "") +
         (unoptimized ? " -cl-opt-disable" : "");
}

std::string first_lines(const std::string& text, size_t lines) {
  size_t end = 0;
  for (size_t i = 0; i < lines && end != std::string::npos; ++i) {
    end = text.find('\n', end == 0 ? 0 : end + 1);
  }
  return text.substr(0, end);
}

std::string build_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) !=
      CL_SUCCESS) {
    return "";
  }
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

class ClModule final : public DeviceModule {
 public:
  ClModule(std::shared_ptr<ClContext> context, ClObject<cl_program> program)
      : context_(std::move(context)), program_(std::move(program)) {}

  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept override {
    cl_int code = CL_SUCCESS;
    ClObject<cl_kernel> kernel(clCreateKernel(program_.get(), entry.c_str(), &code));
    if (code == CL_INVALID_KERNEL_NAME) {
      return fail(internal_error("the module has no entry " + entry, "opencl"));
    }
    TAPML_TRY(cl_status(code, "clCreateKernel"));
    cl_uint arguments = 0;
    TAPML_TRY(cl_status(
        clGetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, nullptr),
        "clGetKernelInfo"));
    size_t max_group = 0;
    TAPML_TRY(cl_status(
        clGetKernelWorkGroupInfo(kernel.get(), context_->device.device, CL_KERNEL_WORK_GROUP_SIZE,
                                 sizeof(max_group), &max_group, nullptr),
        "clGetKernelWorkGroupInfo"));
    return std::make_shared<ClKernel>(std::move(kernel), entry, arguments, max_group);
  }

 private:
  std::shared_ptr<ClContext> context_;
  ClObject<cl_program> program_;
};

}  // namespace

namespace {

std::string program_key(const ClContext& context, const std::string& options,
                        std::span<const std::byte> source) {
  Sha256 hash;
  hash.update(std::string(kKeyVersion) + "\n" + options + "\n" + cl_build_identity(context.device) +
              "\n");
  hash.update(source);
  return to_hex(hash.digest());
}

// Null if the driver rejects the bytes: they may be from a driver that changed without changing its
// version.
ClObject<cl_program> kept_program(const ClContext& context, const std::string& options,
                                  std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t size = bytes.size();
  cl_device_id device = context.device.device;
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  ClObject<cl_program> program(
      clCreateProgramWithBinary(context.context.get(), 1, &device, &size, &data, &status, &code));
  if (code != CL_SUCCESS || status != CL_SUCCESS) return {};
  if (clBuildProgram(program.get(), 1, &device, options.c_str(), nullptr, nullptr) != CL_SUCCESS) {
    return {};
  }
  return program;
}

// Empty if the driver provides no binary.
std::vector<std::byte> binary_of(cl_program program) {
  size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) !=
      CL_SUCCESS) {
    return {};
  }
  std::vector<std::byte> bytes(size);
  auto* data = reinterpret_cast<unsigned char*>(bytes.data());
  if (size == 0 || clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data),
                                    static_cast<void*>(&data), nullptr) != CL_SUCCESS) {
    return {};
  }
  return bytes;
}

Result<ClObject<cl_program>> built_program(const ClContext& context, const std::string& options,
                                           std::span<const std::byte> source) {
  const char* text = reinterpret_cast<const char*>(source.data());
  size_t length = source.size();
  cl_int code = CL_SUCCESS;
  ClObject<cl_program> program(
      clCreateProgramWithSource(context.context.get(), 1, &text, &length, &code));
  TAPML_TRY(cl_status(code, "clCreateProgramWithSource"));
  cl_device_id device = context.device.device;
  code = clBuildProgram(program.get(), 1, &device, options.c_str(), nullptr, nullptr);
  if (code == CL_BUILD_PROGRAM_FAILURE) {
    Error error = internal_error("the OpenCL driver rejects the source of a module", "opencl");
    error.fault = PlatformFault::kCompile;
    error.found = first_lines(build_log(program.get(), device), kLogLines);
    return fail(std::move(error));
  }
  TAPML_TRY(cl_status(code, "clBuildProgram"));
  return program;
}

}  // namespace

Result<std::shared_ptr<DeviceModule>> build_cl_module(std::shared_ptr<ClContext> context,
                                                      std::span<const std::byte> source) {
  ClObject<cl_program> program;
  const std::string options = build_options(context->device, source);
  std::string key;
  if (context->programs) {
    key = program_key(*context, options, source);
    if (auto bytes = context->programs->get(key)) program = kept_program(*context, options, *bytes);
  }
  if (!program) {
    TAPML_ASSIGN(program, built_program(*context, options, source));
    if (context->programs) {
      std::vector<std::byte> bytes = binary_of(program.get());
      if (!bytes.empty()) context->programs->put(key, bytes);
    }
  }
  return std::make_shared<ClModule>(std::move(context), std::move(program));
}

}  // namespace tapml::device
