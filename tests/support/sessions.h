// Sessions of the local platforms, for tests.
#pragma once

#include <cctype>
#include <memory>
#include <string>

#include "codegen/llvm/native.h"
#include "device/cpu/cpu_device.h"
#include "device/null/null_device.h"
#include "device/opencl/opencl_device.h"
#include "device/vulkan/vulkan_device.h"
#include "runtime/local_session.h"
#include "support/wasm_session.h"

namespace tapml::testing {

// A target's text as part of a test's name: "opencl_index_32".
inline std::string target_test_name(std::string target) {
  for (char& c : target) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return target;
}

// The device of "cpu", "opencl", "vulkan" or "null", without options; null if the platform is
// absent.
inline std::shared_ptr<runtime::Device> open_device(const std::string& target) {
  const std::string platform = target.substr(0, target.find(':'));
  if (platform == "cpu") {
    return std::make_shared<device::CpuDevice>(0, codegen::make_jit_loader());
  }
  if (platform == "opencl") {
    auto opened = device::create_opencl_device();
    return opened ? *opened : nullptr;
  }
  if (platform == "vulkan") {
    auto opened = device::create_vulkan_device();
    return opened ? *opened : nullptr;
  }
  return std::make_shared<device::NullDevice>();
}

// The same as a session, and "wasm".
inline std::unique_ptr<runtime::Session> open_session(const std::string& target) {
  if (target.substr(0, target.find(':')) == "wasm") {
    auto opened = open_wasm_session();
    return opened ? std::move(*opened) : nullptr;
  }
  std::shared_ptr<runtime::Device> device = open_device(target);
  if (!device) return nullptr;
  auto session = runtime::LocalSession::create(std::move(device));
  return session ? std::move(*session) : nullptr;
}

}  // namespace tapml::testing
