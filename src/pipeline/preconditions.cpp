#include "pipeline/preconditions.h"

#include <algorithm>

#include "base/suggest.h"
#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "pipeline/check_input.h"
#include "pipeline/compilation.h"
#include "pipeline/pass_effect.h"
#include "pipeline/run.h"
#include "relax/storage.h"
#include "relax/visit.h"

namespace tapml::pipeline {

namespace {

const PassInfo& pass_called(const std::string& name) {
  if (const PassInfo* pass = find_pass(name)) return *pass;
  std::vector<std::string_view> names;
  std::string known;
  for (const PassInfo& pass : pass_table()) {
    names.emplace_back(pass.name);
    known += (known.empty() ? "" : ", ") + std::string(pass.name);
  }
  throw_user("unknown pass", "--passes", "some of " + known, name, suggestion(name, names));
}

// lower_storage leaves views unchanged and tests each at run time; these tests identify its output.
bool asks_about_views(const Module& module) {
  bool asks = false;
  for (const auto& [name, function] : passes::graph_functions(module)) {
    relax::visit_bindings(function->body, [&](const relax::Binding& binding, bool) {
      asks |= relax::storage_op(binding.value) == relax::StorageOp::kIsTensor ||
              relax::storage_op(binding.value) == relax::StorageOp::kBase;
    });
  }
  return asks;
}

// Whether the pass has something left to do; if so, `result` is its output.
bool changes(const PassInfo& pass, const Module& module, Module& result) {
  if (pass.name == std::string("lower_storage") && asks_about_views(module)) return false;
  result = pass.run(module);
  return pass_effect(module, result).changed();
}

bool has_kernels(const Module& module) {
  return std::ranges::any_of(
      module.functions, [](const auto& entry) { return passes::is_kernel(entry.second.get()); });
}

std::string where_of(const PassInfo& pass) { return std::string("--passes ") + pass.name; }

void require_target(const PassInfo& pass, const target::Target* target) {
  if (target) return;
  throw_user(std::string("pass ") + pass.name + " requires a target", where_of(pass), "--target",
             "none", "add a target, such as --target cpu");
}

// Whether all operators are kernels.
bool is_legalized(const Module& module) {
  Module ignored;
  return has_kernels(module) && !changes(pass_called("legalize"), module, ignored);
}

}  // namespace

void check_precondition(const Module& module, const PassInfo& pass) {
  const std::string name = pass.name;
  if (is_planned(module)) {
    if (pass.on_planned) return;
    throw_user("pass " + name + " does not support planned memory", where_of(pass),
               "a module before plan_memory", "phase \"plan\"",
               pass.is_function() ? "run it earlier: --passes " + name + ",plan_memory"
                                  : "leave plan_memory out: " + name + " runs what it needs");
  }
  std::string missing;
  Module current = module;
  for (const char* required : pass.after) {
    Module next;
    if (!changes(pass_called(required), current, next)) continue;
    missing += (missing.empty() ? "" : ",") + std::string(required);
    current = std::move(next);
  }
  if (!missing.empty()) {
    throw_user("pass " + name + " requires passes that did not run", where_of(pass),
               "a module that " + missing + " would leave as it is", "one that they change",
               "run them earlier: --passes " + missing + "," + name);
  }
  if (pass.on_operators && is_legalized(module)) {
    throw_user("pass " + name + " works on operators, but they are already kernels", where_of(pass),
               "a module before legalize", "kernels only",
               "run it earlier: --passes " + name + ",legalize");
  }
}

Module run_by_name(const Module& module, const std::string& name, const target::Target* target,
                   const Instruments& instruments, int& number) {
  const PassInfo& pass = pass_called(name);
  if (pass.run_for) require_target(pass, target);
  check_precondition(module, pass);
  auto run = [&](const Module& given) {
    return pass.run ? pass.run(given) : pass.run_for(given, *target);
  };
  if (pass.level == PassLevel::kGraph) return run_pass(module, name, run, instruments, ++number);
  Instruments own = instruments;
  own.verify = false;
  Module result = run_pass(module, name, run, own, ++number);
  if (instruments.verify) verify_programs(result, name);
  return result;
}

std::string run_to(const std::string& step, const Module& module, const target::Target* target,
                   const Instruments& instruments) {
  const PassInfo& pass = pass_called(step);
  require_target(pass, target);
  check_precondition(module, pass);
  ImplementOptions options;
  options.instruments = instruments;
  return implemented_to(pass, module, *target, options);
}

}  // namespace tapml::pipeline
