// Runs modules on a platform and in the interpreter, and makes tensors for them.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "interp/interpreter.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "text/parser.h"

namespace tapml::testing {

inline Module parse_input(const std::string& text) {
  Module module = text::parse("module\n" + text, "m.txt");
  pipeline::check_input(module, "m.txt");
  return module;
}

inline HostTensor f32(Shape shape, const std::vector<float>& values) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) tensor.set_f64(static_cast<int64_t>(i), values[i]);
  return tensor;
}

// From -1 to 1.
inline HostTensor random_tensor(Shape shape, DType dtype, unsigned seed) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, uniform(generator));
  return tensor;
}

// The results of main.
inline Result<std::vector<HostTensor>> run_main(runtime::Session& session,
                                                const std::shared_ptr<const Executable>& executable,
                                                const std::vector<HostTensor>& inputs) {
  TAPML_ASSIGN(auto vm, runtime::LocalVirtualMachine::create(session, executable));
  std::vector<runtime::Value> args;
  for (const HostTensor& input : inputs) {
    TAPML_ASSIGN(runtime::Tensor tensor, runtime::upload(session, input));
    args.emplace_back(tensor);
  }
  TAPML_ASSIGN(runtime::Value result, vm->call("main", args));
  std::vector<runtime::Value> fields = {result};
  if (const auto* tuple = result.tuple()) fields.assign(tuple->begin(), tuple->end());
  std::vector<HostTensor> outputs;
  for (const runtime::Value& field : fields) {
    TAPML_ASSIGN(HostTensor host, runtime::download(*field.tensor()));
    outputs.push_back(std::move(host));
  }
  return outputs;
}

// The same on an available platform. With `verify` every pass is verified.
inline Result<std::vector<HostTensor>> run_module(const std::string& platform, const Module& module,
                                                  const std::vector<HostTensor>& inputs,
                                                  bool verify = true) {
  auto session = open_session(platform);
  if (!session) throw_internal(platform + " is unavailable");
  pipeline::ImplementOptions options;
  options.instruments.verify = verify;
  auto executable = pipeline::compile(module, target::parse_target(platform), options);
  return run_main(*session, executable, inputs);
}

// The only result.
inline Result<HostTensor> run_for_tensor(const std::string& platform, const Module& module,
                                         const std::vector<HostTensor>& inputs,
                                         bool verify = true) {
  TAPML_ASSIGN(std::vector<HostTensor> outputs, run_module(platform, module, inputs, verify));
  return std::move(outputs.at(0));
}

// The same in the interpreter.
inline std::vector<op::RefTensor> interpret_module(const Module& module,
                                                   const std::vector<HostTensor>& inputs) {
  std::vector<interp::Value> args;
  for (const HostTensor& input : inputs) {
    args.push_back(interp::Value::tensor(op::RefTensor::from(input)));
  }
  interp::Value value = interp::call(module, "main", args);
  if (std::holds_alternative<op::RefTensor>(value.data)) return {value.as_tensor()};
  std::vector<op::RefTensor> outputs;
  for (const interp::Value& field : value.as_tuple()) outputs.push_back(field.as_tensor());
  return outputs;
}

}  // namespace tapml::testing
