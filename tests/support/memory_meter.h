// Compiled modules whose memory a counting device measures.
#pragma once

#include "arith/evaluate.h"
#include "ir/exceptions.h"
#include "passes/memory/report.h"
#include "pipeline/compile.h"
#include "relax/expr.h"
#include "relax/visit.h"
#include "runtime/counting_device.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"

namespace tapml::testing {

using Values = std::map<std::string, int64_t>;

inline int64_t value_of(const PrimExpr& expr, const Values& values) {
  arith::Values by_variable;
  for (const Var& var : free_vars(expr)) by_variable[var.get()] = values.at(var->name);
  return arith::evaluate(expr, by_variable).value();
}

struct Compiled {
  std::string target;
  std::shared_ptr<const Executable> executable;
  passes::MemoryReport report;
  Module planned;

  const passes::FunctionMemory& function(const std::string& name) const {
    for (const auto& one : report.functions) {
      if (one.name == name) return one;
    }
    throw_internal("no function " + name);
  }
};

inline Compiled compile_for(const std::string& target, const Module& module,
                            const Values& bounds = {}) {
  Compiled result;
  result.target = target;
  pipeline::ImplementOptions options;
  options.planned = &result.planned;
  options.memory.bounds = bounds;
  result.executable =
      pipeline::implement(pipeline::form_kernels(module), target::parse_target(target), options);
  result.report = passes::memory_report(result.planned);
  return result;
}

// Excludes workspaces and packed weights, in which platforms differ.
inline Compiled compile_null(const Module& module, const Values& bounds = {}) {
  return compile_for("null", module, bounds);
}

// A counting device, its VM, and the memory allocated before the VM existed.
class Meter {
 public:
  explicit Meter(const Compiled& compiled)
      : compiled_(compiled),
        device_(std::make_shared<runtime::CountingDevice>(open_device(compiled.target))) {
    session_ = unwrap(runtime::LocalSession::create(device_));
  }

  // Zero-filled arguments, created before anything is measured.
  void prepare(const std::string& function, const Values& values) {
    args_.clear();
    const auto& source = *relax::as_relax_function(compiled_.planned.find(function));
    for (const relax::Variable& param : source.params) {
      const auto* tensor = relax::as_tensor(param->annotation);
      if (!tensor || !tensor->shape || !tensor->dtype) {
        throw_internal(function + " takes a tensor of no known shape and dtype");
      }
      Shape shape;
      for (const PrimExpr& dim : *tensor->shape) shape.push_back(value_of(dim, values));
      args_.emplace_back(
          unwrap(runtime::upload(*session_, HostTensor::zeros(*tensor->dtype, shape))));
    }
  }

  void load() {
    before_ = device_->counts().live_bytes;
    vm_ = unwrap(runtime::LocalVirtualMachine::create(*session_, compiled_.executable));
  }

  // The peak of allocated memory since load().
  int64_t call(const std::string& function) {
    unwrap(vm_->call(function, args_));
    return device_->counts().peak_bytes - before_;
  }

  int64_t allocations() const { return device_->counts().allocations; }
  int64_t peak_bytes() const { return device_->counts().peak_bytes - before_; }
  int64_t live_bytes() const { return device_->counts().live_bytes - before_; }
  runtime::LocalVirtualMachine& vm() { return *vm_; }
  std::vector<runtime::Value>& args() { return args_; }

 private:
  const Compiled& compiled_;
  std::shared_ptr<runtime::CountingDevice> device_;
  std::unique_ptr<runtime::LocalSession> session_;
  std::vector<runtime::Value> args_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
  int64_t before_ = 0;
};

inline int64_t measure(const Compiled& compiled, const std::string& function,
                       const Values& values) {
  Meter meter(compiled);
  meter.prepare(function, values);
  meter.load();
  return meter.call(function);
}

}  // namespace tapml::testing
