// Kernels compiled for one platform into one module, and run on its device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "arith/scalar_program.h"
#include "codegen/code_generators.h"
#include "codegen/lower/describe_launch.h"
#include "codegen/lower/narrow_index.h"
#include "codegen/source/emitter.h"
#include "codegen/source/spirv.h"
#include "passes/lower_math.h"
#include "runtime/call_point.h"
#include "schedule/rules.h"
#include "support/kernel_program.h"
#include "support/sessions.h"
#include "support/spirv_validation.h"
#include "target/target.h"

namespace tapml::testing {

class DeviceKernels {
 public:
  explicit DeviceKernels(const std::string& platform)
      : DeviceKernels(platform, open_session(platform)) {}
  // On a session of the platform, such as one behind the protocol.
  DeviceKernels(const std::string& platform, std::unique_ptr<runtime::Session> session)
      : target_(target::parse_target(platform)), session_(std::move(session)) {}

  // Whether the platform is available.
  bool available() const { return session_ != nullptr; }

  // Schedules and adds a kernel; returns its number.
  int32_t add(const tir::PrimFunc& func) {
    return add_scheduled(*schedule::schedule_for(func, target_).func);
  }

  int32_t add_scheduled(const tir::PrimFunc& scheduled) {
    tir::PrimFuncRef func = passes::lower_math(scheduled);
    auto number = static_cast<int32_t>(executable_->kernels.size());
    std::string name = "kernel" + std::to_string(number);
    codegen::LoweredKernel lowered = codegen::lower_prim_func(*func, name);
    auto info = [&](const tir::Buffer& buffer, AccessMode mode) {
      ParamInfo param;
      param.name = buffer->name;
      param.dtype = buffer->dtype;
      param.mode = mode;
      for (const PrimExpr& dim : buffer->shape) {
        param.dims.push_back(arith::compile_scalar(dim, func->scalars));
      }
      return param;
    };
    KernelInfo kernel;
    kernel.name = name;
    for (const tir::Param& param : func->params) {
      kernel.params.push_back(info(param.buffer, param.mode));
    }
    for (const Var& scalar : func->scalars) kernel.scalars.push_back(scalar->name);
    executable_->kernels.push_back(std::move(kernel));
    Implementation implementation;
    implementation.kernel = number;
    for (const tir::Buffer& workspace : lowered.workspaces) {
      implementation.workspaces.push_back(info(workspace, AccessMode::kWorkspace));
    }
    for (codegen::DeviceFunc& launch : lowered.launches) {
      if (target_.description.index_bits == 32) {
        const bool must = codegen::generator_of(target_).needs_narrow_index();
        codegen::narrow_index(launch, true, name, must);
      }
      implementation.launches.push_back(codegen::describe_launch(launch, func->scalars));
      functions_.push_back(std::move(launch));
    }
    executable_->implementations.push_back(std::move(implementation));
    return number;
  }

  // The code of all kernels.
  ModuleBlob code() const {
    ModuleBlob blob = codegen::compile_module(functions_, target_);
    if (blob.format == codegen::kSpirvFormat) expect_valid_spirv(blob);
    return blob;
  }

  // Generates the code of all kernels and loads it.
  void load() {
    executable_->modules.push_back(code());
    auto runner = runtime::KernelRunner::create(*session_, executable_);
    ASSERT_TRUE(runner) << runner.error().to_string();
    runner_ = std::move(*runner);
  }

  // May be changed before the first kernel is added.
  target::Target& target() { return target_; }
  runtime::KernelRunner& runner() { return *runner_; }
  runtime::Session& session() { return *session_; }

  // Runs kernel `number` and updates the written `arguments`. Bytes around each tensor must not
  // change.
  void run(int32_t number, std::vector<HostTensor>& arguments,
           const std::vector<int64_t>& scalars) {
    std::vector<runtime::Tensor> tensors;
    for (const HostTensor& argument : arguments) tensors.push_back(guarded(argument));
    Status status = runner_->enqueue(number, tensors, scalars);
    ASSERT_TRUE(status) << status.error().to_string();
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::vector<std::byte> bytes(arguments[i].byte_size() + 2 * kGuard);
      Status read =
          session_->read(runtime::kDefaultStream, {tensors[i].storage->buffer(), 0}, bytes);
      ASSERT_TRUE(read) << read.error().to_string();
      auto tensor = bytes.begin() + kGuard;
      auto end = tensor + static_cast<std::ptrdiff_t>(arguments[i].byte_size());
      auto untouched = [](std::byte byte) { return byte == kMark; };
      EXPECT_TRUE(std::all_of(bytes.begin(), tensor, untouched)) << "written before tensor " << i;
      EXPECT_TRUE(std::all_of(end, bytes.end(), untouched)) << "written past tensor " << i;
      HostTensor result = HostTensor::zeros(arguments[i].dtype(), arguments[i].shape());
      std::copy(tensor, end, result.mutable_bytes().begin());
      arguments[i] = result;
    }
  }

 private:
  static constexpr int64_t kGuard = 256;
  static constexpr std::byte kMark{0x5a};

  runtime::Tensor guarded(const HostTensor& host) {
    runtime::Tensor tensor;
    std::vector<std::byte> bytes(host.byte_size() + 2 * kGuard, kMark);
    auto storage = runtime::Storage::allocate(*session_, static_cast<int64_t>(bytes.size()));
    EXPECT_TRUE(storage) << storage.error().to_string();
    tensor.storage = *storage;
    tensor.offset = kGuard;
    tensor.dtype = host.dtype();
    tensor.shape = host.shape();
    std::copy(host.bytes().begin(), host.bytes().end(), bytes.begin() + kGuard);
    EXPECT_TRUE(session_->write(runtime::kDefaultStream, {tensor.storage->buffer(), 0}, bytes));
    return tensor;
  }

  target::Target target_;
  std::unique_ptr<runtime::Session> session_;
  std::shared_ptr<Executable> executable_ = std::make_shared<Executable>();
  std::vector<codegen::DeviceFunc> functions_;
  std::unique_ptr<runtime::KernelRunner> runner_;
};

// Runs `kernels` at all their sizes on the device, within their error bounds.
inline void expect_on_device(DeviceKernels& device, const std::vector<KernelProgram>& kernels) {
  for (const KernelProgram& kernel : kernels) device.add(*kernel.func);
  device.load();
  if (::testing::Test::HasFatalFailure()) return;
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (const Sizes& sizes : kernels[k].sizes) {
      SCOPED_TRACE(kernels[k].label(sizes));
      std::vector<HostTensor> arguments = kernels[k].arguments(sizes);
      const std::vector<op::RefTensor> expected = kernels[k].expected(arguments, sizes);
      device.run(static_cast<int32_t>(k), arguments, kernels[k].scalars(sizes));
      if (::testing::Test::HasFatalFailure()) return;
      if (!expect_within_bounds(kernels[k], sizes, arguments, expected)) break;
    }
  }
}

// The same on the device of `target`; skips the test if the platform is unavailable.
inline void expect_on_device(const std::string& target, const std::vector<KernelProgram>& kernels) {
  DeviceKernels device(target);
  if (!device.available()) GTEST_SKIP() << target << " is unavailable";
  expect_on_device(device, kernels);
}

}  // namespace tapml::testing
