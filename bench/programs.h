// Compiled programs with inputs on a session, ready to be timed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "build/block_builder.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::bench {

int cpu_threads();
// A session on the CPU with all its threads.
std::shared_ptr<runtime::LocalSession> cpu_session();

// A single function "main", compiled for the CPU.
class Program {
 public:
  using Body = std::function<relax::Variable(build::FunctionBuilder&)>;
  // `body` declares parameters and emits operators. `target` must be a CPU target.
  explicit Program(const Body& body, const std::string& target = "cpu");

  // A random f32 tensor on the session.
  runtime::Tensor random(Shape shape) const;
  // Runs main and waits. Rethrows the run's error.
  void run(const std::vector<runtime::Tensor>& arguments) const;

 private:
  std::shared_ptr<runtime::LocalSession> session_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
};

}  // namespace tapml::bench
