// Every step of a compilation by name, in order.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "pipeline/instruments.h"
#include "target/target.h"

namespace tapml::pipeline {

// What a pass works on: the module; the tensor program of every kernel; the executable.
enum class PassLevel : uint8_t { kGraph, kKernel, kExecutable };
const char* pass_level_name(PassLevel level);  // "graph", "kernel", "executable"

// Phase of passes that compile() does not run: they are there to be called by name.
inline constexpr const char* kByName = "by name";
// Phases that know the target follow this one.
inline constexpr const char* kLastCommonPhase = "fuse";

// One step. `tapml opt --passes` runs those that make a module of a module; these want one that
// check_input takes.
struct PassInfo {
  const char* name;
  const char* phase;
  PassLevel level = PassLevel::kGraph;
  const char* doc;
  // How `opt` runs it; null where it cannot, which `not_by_name` gives the reason for.
  Module (*run)(const Module& module) = nullptr;
  Module (*run_for)(const Module& module, const target::Target& target) = nullptr;
  const char* not_by_name = nullptr;
  const char* precondition = "nothing";  // what it requires beyond that, for people
  // The same for check_precondition(): passes that have nothing left to do, in order.
  std::vector<const char*> after = {};
  bool on_operators = false;  // not once all operators are kernels
  bool on_planned = false;    // also where memory is planned
  const char* leaves;         // what holds afterwards, for people
  // What a compilation does that leaves it out (`--skip-pass`); null where none can.
  const char* without = nullptr;

  bool is_by_name_only() const { return phase == std::string(kByName); }
  // Whether compile() runs it before the kernels are formed, the same for every target.
  bool is_common() const;
};

// In the order of compile(); then those that are called by name.
const std::vector<PassInfo>& pass_table();
// The row of a name; null where there is none.
const PassInfo* find_pass(const std::string& name);

// Runs a pass of the table by its name, as compile() runs its own: under the instruments, and
// counted by `number`. UserError for a name that no pass has, with the nearest; for a pass that is
// no function of modules, or that needs a target where `target` is null; and for a module that is
// not as the pass requires it (pipeline/preconditions.h).
Module run_by_name(const Module& module, const std::string& pass, const target::Target* target,
                   const Instruments& instruments, int& number);

}  // namespace tapml::pipeline
