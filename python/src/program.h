// Modules, the input of compilation.
#pragma once

#include <string>

#include "binding.h"
#include "ir/module.h"
#include "pipeline/instruments.h"
#include "relax/expr.h"

namespace tapml::python {

// A module that has passed the input checks.
struct Program {
  Module module;
  std::string name;  // of its text, for messages
};

// A compiler annotation as Python shows it.
struct ValueType {
  std::string name;  // of the parameter; empty in results
  relax::Annotation annotation;
};

// A pass that calls a function of Python: from a Program to a Program.
pipeline::AddedPass pass_of(const std::string& name, const std::string& after, py::function run);

// The module of a Program or a LanguageModel; UserError for anything else.
const Module& module_of(const py::object& program, const char* where);

}  // namespace tapml::python
