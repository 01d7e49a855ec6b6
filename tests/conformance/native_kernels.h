// Test kernels as plain functions, and a loader that finds them by name: host code without a
// compiler.
#pragma once

#include <algorithm>

#include "runtime/kernel_loader.h"

namespace tapml::test {

// buffers: a, b, c; c = a + b (f32).
inline void native_add(void* const* buffers, const int64_t*, int64_t begin, int64_t end) {
  auto a = static_cast<const float*>(buffers[0]);
  auto b = static_cast<const float*>(buffers[1]);
  auto c = static_cast<float*>(buffers[2]);
  for (int64_t i = begin; i < end; ++i) c[i] = a[i] + b[i];
}

// buffers: x; x = x * s0 (f32, in place).
inline void native_scale(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end) {
  auto x = static_cast<float*>(buffers[0]);
  for (int64_t i = begin; i < end; ++i) x[i] *= static_cast<float>(scalars[0]);
}

// buffers: x; x[i] = s0 + i * s1 (i32).
inline void native_ramp(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end) {
  auto x = static_cast<int32_t*>(buffers[0]);
  for (int64_t i = begin; i < end; ++i) x[i] = static_cast<int32_t>(scalars[0] + i * scalars[1]);
}

// buffers: x; x[i] = x[i] * 3 + s0 (i32, in place, modulo 2^32): the result depends on the order of
// calls.
inline void native_fold(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end) {
  auto x = static_cast<uint32_t*>(buffers[0]);
  for (int64_t i = begin; i < end; ++i) x[i] = x[i] * 3u + static_cast<uint32_t>(scalars[0]);
}

// buffers: any, c; c = -1000 (f32): shows that a kernel ran that should not have.
inline void native_sentinel(void* const* buffers, const int64_t* scalars, int64_t begin,
                            int64_t end) {
  auto c = static_cast<float*>(buffers[scalars[0]]);
  for (int64_t i = begin; i < end; ++i) c[i] = -1000.0f;
}

struct NativeKernel {
  const char* entry;
  runtime::CpuKernel function;
};

inline constexpr NativeKernel kNativeKernels[] = {{"add", native_add},
                                                  {"scale", native_scale},
                                                  {"ramp", native_ramp},
                                                  {"fold", native_fold},
                                                  {"sentinel", native_sentinel}};

inline runtime::CpuKernel find_native_kernel(const std::string& entry) {
  for (const NativeKernel& kernel : kNativeKernels) {
    if (entry == kernel.entry) return kernel.function;
  }
  return nullptr;
}

inline std::vector<std::string> native_entries() {
  std::vector<std::string> entries;
  for (const NativeKernel& kernel : kNativeKernels) entries.push_back(kernel.entry);
  return entries;
}

class NativeCode final : public runtime::HostCode {
 public:
  Result<runtime::CpuKernel> find(const std::string& entry) noexcept override {
    runtime::CpuKernel function = find_native_kernel(entry);
    if (!function) return fail(internal_error("the module has no entry " + entry));
    return function;
  }
};

class NativeLoader final : public runtime::KernelLoader {
 public:
  Result<std::shared_ptr<runtime::HostCode>> load(const ModuleBlob&) noexcept override {
    return std::make_shared<NativeCode>();
  }
};

inline ModuleBlob native_blob(std::string platform = "cpu") {
  ModuleBlob blob;
  blob.platform = std::move(platform);
  blob.format = "native";
  blob.entries = native_entries();
  return blob;
}

}  // namespace tapml::test
