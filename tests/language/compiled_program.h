// Compiles text to a program that runs on the local cpu.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "exec/executable_file.h"
#include "fuzz/oracles/vm_values.h"
#include "interp/interpreter.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "text/parser.h"

namespace tapml::testing {

using fuzz::from_machine;
using fuzz::machine_functions;
using fuzz::to_machine;

inline Module checked_module(const std::string& source) {
  return pipeline::normal_input(text::parse(source, "bad"), "bad");
}

class CompiledProgram {
 public:
  // With `verify`, the verifier runs after every pass.
  explicit CompiledProgram(const std::string& source, bool verify = true)
      : session_(open_session("cpu")) {
    pipeline::ImplementOptions options;
    options.instruments.verify = verify;
    executable_ = pipeline::compile(checked_module(source), target::parse_target("cpu"), options);
    load();
  }
  // Continues with the executable as read back from a file.
  void reread() {
    auto bytes = std::make_shared<std::vector<std::byte>>(
        unwrap(write_executable({.executable = *executable_})));
    vm_.reset();
    executable_ = std::make_shared<const Executable>(
        unwrap(read_executable(*bytes, bytes, "memory")).executable);
    load();
  }
  interp::Value call(const std::string& function, const std::vector<interp::Value>& arguments) {
    std::vector<runtime::Value> args;
    for (const interp::Value& argument : arguments) {
      args.push_back(to_machine(*session_, *executable_, argument));
    }
    return from_machine(unwrap(vm_->call(function, args)));
  }
  const Executable& executable() const { return *executable_; }

 private:
  void load() {
    vm_ = unwrap(runtime::LocalVirtualMachine::create(*session_, executable_));
    vm_->set_call_limit(100'000);
  }

  std::unique_ptr<runtime::Session> session_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
};

}  // namespace tapml::testing
