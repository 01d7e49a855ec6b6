#include "programs.h"

#include <thread>

#include "base/rng.h"
#include "codegen/llvm/native.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/library/host_library.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"

namespace tapml::bench {

int cpu_threads() { return static_cast<int>(std::thread::hardware_concurrency()); }

std::shared_ptr<runtime::LocalSession> cpu_session() {
  auto device = std::make_shared<device::CpuDevice>(cpu_threads(), codegen::make_jit_loader());
  return unwrap(runtime::LocalSession::create(device));
}

Program::Program(const Body& body, const std::string& target) : session_(cpu_session()) {
  Module module;
  build::FunctionBuilder f(module);
  relax::Variable result = body(f);
  module.functions["main"] = f.finish(result);
  pipeline::ImplementOptions options;
  options.libraries.is_installed = device::is_library_installed;
  auto executable = pipeline::compile(module, target::parse_target(target), options);
  vm_ = unwrap(runtime::LocalVirtualMachine::create(*session_, executable));
}

runtime::Tensor Program::random(Shape shape) const {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  fill_uniform(tensor.mutable_values<float>(), philox_key(1, shape_to_string(tensor.shape())));
  return unwrap(runtime::upload(*session_, tensor));
}

void Program::run(const std::vector<runtime::Tensor>& arguments) const {
  std::vector<runtime::Value> values(arguments.begin(), arguments.end());
  unwrap(vm_->call("main", values));
  unwrap(session_->synchronize(runtime::kDefaultStream));
}

}  // namespace tapml::bench
