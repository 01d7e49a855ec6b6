// The table of all steps of a compilation, in order.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "pipeline/instruments.h"
#include "target/target.h"

namespace tapml::pipeline {

// The subject of a pass: the module; the tensor program of every kernel; the executable.
enum class PassLevel : uint8_t { kGraph, kKernel, kExecutable };
const char* pass_level_name(PassLevel level);  // "graph", "kernel", "executable"

// Phase of passes that compile() does not run and that can only be called by name.
inline constexpr const char* kByName = "by name";
// The phases after this one depend on the target.
inline constexpr const char* kLastCommonPhase = "fuse";

// One step. `tapml opt --passes` runs it on a module that passes check_input.
struct PassInfo {
  const char* name;
  const char* phase;
  PassLevel level = PassLevel::kGraph;
  const char* doc;
  // The step as a function of modules. Null if it is none; `opt` runs it by run_to().
  Module (*run)(const Module& module) = nullptr;
  Module (*run_for)(const Module& module, const target::Target& target) = nullptr;
  const char* precondition = "nothing";  // further requirements, as documentation
  // The same for check_precondition(): passes, in order, that must have nothing left to do.
  std::vector<const char*> after = {};
  bool on_operators = false;  // not valid once all operators are kernels
  bool on_planned = false;    // also valid once memory is planned
  const char* leaves;         // the guarantee afterwards, as documentation
  // The effect on a compilation of skipping it (`--skip-pass`); null if it cannot be skipped.
  const char* without = nullptr;

  bool is_function() const { return run || run_for; }
  bool is_by_name_only() const { return phase == std::string(kByName); }
  // Whether compile() runs it before the kernels are formed, for every target alike.
  bool is_common() const;
};

// In the order of compile(), followed by passes that are only called by name.
const std::vector<PassInfo>& pass_table();
// The row of a name; null if there is none.
const PassInfo* find_pass(const std::string& name);

// Runs a pass of the table by name, as compile() does: under the instruments, and counted by
// `number`. UserError for an unknown name, with the nearest one; for a pass that needs a target
// when `target` is null; and for a module that does not meet the pass's requirements
// (pipeline/preconditions.h). The pass must be a function of modules.
Module run_by_name(const Module& module, const std::string& pass, const target::Target* target,
                   const Instruments& instruments, int& number);

// For a step that is not a function of modules: runs the steps of implement() up to it, and returns
// what --dump-ir writes after it: the kernels' programs, the module or the contents of the
// executable. Errors as above.
std::string run_to(const std::string& step, const Module& module, const target::Target* target,
                   const Instruments& instruments);

}  // namespace tapml::pipeline
