#include "build/insert_checks.h"

#include <map>

#include "build/pattern.h"
#include "build/walk.h"
#include "ir/exceptions.h"
#include "relax/check_location.h"
#include "relax/visit.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

class UndecidedFinder : public DeductionVisitor {
 public:
  explicit UndecidedFinder(std::string function) : function_(std::move(function)) {}

  void binding(const Binding& binding, bool dataflow, const Annotation& deduced) override {
    const Annotation& stored = binding.var->annotation;
    if (surely_fits(binding.match_cast ? binding.match_cast : deduced, stored)) return;
    if (!compatible(deduced, stored)) {
      throw_user("the annotation of '" + binding.var->name + "' is not the one of its value",
                 "function " + function_, to_string(deduced), to_string(stored));
    }
    // A match_cast of a function may contain control flow.
    if (dataflow && as_callable(stored)) {
      throw_user("a dataflow block cannot check that a value is a function",
                 "function " + function_ + ", binding " + binding.var->name, to_string(stored),
                 to_string(deduced), "bind it outside the block");
    }
    undecided_[binding.var.get()] = binding.match_cast ? binding.match_cast : deduced;
  }
  bool refused(const Binding&, const Error& error) override { throw_error(error); }
  void result(const Function&, const Binding*, const Annotation&) override {}

  const std::map<const VarNode*, Annotation>& undecided() const { return undecided_; }

 private:
  std::string function_;
  std::map<const VarNode*, Annotation> undecided_;
};

Block with_checks(const Block& block, const std::map<const VarNode*, Annotation>& undecided) {
  Block result;
  result.dataflow = block.dataflow;
  for (const Binding& binding : block.bindings) {
    auto it = undecided.find(binding.var.get());
    if (it == undecided.end()) {
      result.bindings.push_back(binding);
      continue;
    }
    Variable found = make_variable(binding.var->name + "_found", it->second, block.dataflow);
    // Messages name the binding as it was written.
    const CheckNote note = check_note(binding);
    result.bindings.push_back({found, binding.value, binding.match_cast, binding.origin, note});
    result.bindings.push_back({binding.var, found, binding.var->annotation, binding.origin, note});
  }
  return result;
}

}  // namespace

Module insert_checks(const Module& module) {
  Module result = module;
  for (auto& [name, base] : result.functions) {
    const auto* function = as_relax_function(base.get());
    if (!function || is_pattern(function) || function->facts.kernel) continue;
    UndecidedFinder finder(name);
    walk_deduction(*function, module, finder);
    if (finder.undecided().empty()) continue;
    auto changed = std::make_shared<Function>(*function);
    changed->body = map_blocks(
        function->body, [&](const Block& block) { return with_checks(block, finder.undecided()); });
    base = std::move(changed);
  }
  return result;
}

}  // namespace tapml::build
