#include "topdown/faults/pass_fault.h"

#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "pipeline/compile.h"
#include "relax/visit.h"

namespace tapml::topdown {

namespace {

constexpr const char* kWrongOperator = "wrong-operator";

// Turns the first sum into a difference.
relax::Expr with_wrong_operator(const relax::Expr& body) {
  bool done = false;
  return relax::map_blocks(body, [&](const relax::Block& block) {
    relax::Block result = block;
    for (relax::Binding& binding : result.bindings) {
      if (done || relax::called_operator(binding.value) != "add") continue;
      const auto& call = *relax::as<relax::CallNode>(binding.value);
      binding.value = relax::make_call(relax::make_operator("subtract"), call.args, call.attrs);
      done = true;
    }
    return result;
  });
}

}  // namespace

std::optional<std::string> parse_pass_fault(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string name = text.substr(0, colon);
  const std::string kind = text.substr(colon + 1);
  bool has_operators = true;
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    has_operators = has_operators && pass.name != std::string("legalize");
    if (pass.name != name) continue;
    if (kind != kWrongOperator) {
      throw_user("unknown kind of fault of a pass", "--inject-fault " + text, kWrongOperator, kind);
    }
    if (!has_operators) {
      throw_user("no operators are left after this pass", "--inject-fault " + text,
                 "a pass before legalize", name, "inject the fault into a kernel: KERNEL:KIND");
    }
    return name;
  }
  return std::nullopt;
}

std::function<Module(const std::string& pass, Module module)> wrong_operator_after(
    const std::string& pass) {
  return [wanted = pass](const std::string& pass, Module module) {
    if (pass != wanted) return module;
    Module result = module;
    for (const auto& [name, function] : passes::graph_functions(module)) {
      result.functions[name] = passes::with_body(*function, with_wrong_operator(function->body));
    }
    return result;
  };
}

}  // namespace tapml::topdown
