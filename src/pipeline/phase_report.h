// Size of a module after each pass, to show how a program shrinks.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/module.h"

namespace tapml::pipeline {

struct FunctionNumbers {
  int64_t bindings = 0;
  int64_t calls = 0;  // of operators, kernels and functions, not counting views and storage
  // Total size of the tensors that calls create, each in its own memory; once memory is planned, of
  // the shared storages. nullopt if a size has a variable without a value.
  std::optional<int64_t> bytes = 0;
};

struct PassNumbers {
  std::string pass;
  int64_t kernels = 0;                               // in the module
  int64_t programs = 0;                              // tensor programs, finally launches
  std::map<std::string, FunctionNumbers> functions;  // all except kernels and patterns
};

// `values`: of symbolic variables, by name.
PassNumbers count_pass(const std::string& pass, const Module& module,
                       const std::map<std::string, int64_t>& values);

}  // namespace tapml::pipeline
