// What a module is after each pass, in numbers: how a program shrinks on its way.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/module.h"

namespace tapml::pipeline {

struct FunctionNumbers {
  int64_t bindings = 0;
  int64_t calls = 0;  // of operators, kernels and functions; views and storage are none
  // Of the tensors that calls make, each in memory of its own; of the storages that they share,
  // once memory is planned. Nothing where a size has a variable without a value.
  std::optional<int64_t> bytes = 0;
};

struct PassNumbers {
  std::string pass;
  int64_t kernels = 0;                               // of the module
  int64_t programs = 0;                              // tensor programs; in the end launches
  std::map<std::string, FunctionNumbers> functions;  // all but kernels and patterns
};

// `values`: of symbolic variables, by name.
PassNumbers count_pass(const std::string& pass, const Module& module,
                       const std::map<std::string, int64_t>& values);

}  // namespace tapml::pipeline
