// Mutations of functions: HirGen's three (section 3.3), and outlining (its Algorithm 2).
#include <algorithm>

#include "build/annotations.h"
#include "build/block_builder.h"
#include "fuzz/mutate/mutate.h"
#include "fuzz/mutate/parts.h"
#include "op/generate.h"

namespace tapml::fuzz {

using relax::Expr;
using relax::Variable;

namespace {

struct Chosen {
  std::string name;
  relax::FunctionRef function;
};

Chosen any_function(const Module& module, RandomStream& rng) {
  const std::string name = op::pick(graph_functions_of(module), rng);
  return {name, std::static_pointer_cast<const relax::Function>(module.functions.at(name))};
}

// Moves the function to a new name, which its own calls follow, so that its old name is free for
// a function that calls it.
std::string move_away(Module& module, const Chosen& chosen) {
  const std::string moved = module.unique_name(chosen.name + "_inner");
  module.functions[moved] = redirected(chosen.function, chosen.name, moved);
  return moved;
}

}  // namespace

std::optional<Module> make_closure(const Module& module, RandomStream& rng) {
  Module result = module;
  const Chosen chosen = any_function(module, rng);
  auto lambda = std::make_shared<relax::FunctionNode>();
  auto inside = std::make_shared<relax::Function>(*chosen.function);
  inside->facts = {};
  inside->attrs.clear();
  lambda->function = std::move(inside);
  const OwnParams own = own_params(*chosen.function);
  Body body(result);
  const Variable closure = body.bind(lambda, "closure");
  body.bind(relax::make_call(closure, own.args()), "returned");
  result.functions[chosen.name] = body.function(own.params, chosen.function->pure);
  return result;
}

std::optional<Module> return_function(const Module& module, RandomStream& rng) {
  Module result = module;
  const Chosen chosen = any_function(module, rng);
  const std::string moved = move_away(result, chosen);
  const std::string giver = result.unique_name("give_" + chosen.name);
  Body giving(result);
  giving.bind(relax::make_global(moved), "function");
  result.functions[giver] = giving.function({}, true);
  const OwnParams own = own_params(*chosen.function);
  Body body(result);
  const Variable function = body.bind(relax::make_call(relax::make_global(giver), {}), "given");
  body.bind(relax::make_call(function, own.args()), "returned");
  result.functions[chosen.name] = body.function(own.params, chosen.function->pure);
  return result;
}

std::optional<Module> wrap_call(const Module& module, RandomStream& rng) {
  Module result = module;
  const Chosen chosen = any_function(module, rng);
  const std::string moved = move_away(result, chosen);
  const OwnParams own = own_params(*chosen.function);
  Body body(result);
  body.bind(relax::make_call(relax::make_global(moved), own.args()), "returned");
  result.functions[chosen.name] = body.function(own.params, chosen.function->pure);
  return result;
}

std::optional<Module> outline_part(const Module& module, RandomStream& rng) {
  const Chosen chosen = any_function(module, rng);
  const relax::SeqNode& body = relax::body_of(*chosen.function);
  std::vector<size_t> blocks;
  for (size_t i = 0; i < body.blocks.size(); ++i) {
    // The last binding of a dataflow block is usually what it returns.
    if (body.blocks[i].dataflow && body.blocks[i].bindings.size() >= 2) blocks.push_back(i);
  }
  if (blocks.empty()) return std::nullopt;
  const size_t at = op::pick(blocks, rng);
  const std::vector<relax::Binding>& bindings = body.blocks[at].bindings;
  const auto count = static_cast<uint32_t>(bindings.size());
  const size_t begin = rng.below(count), end = begin + 1 + rng.below(count - begin);

  std::vector<Variable> inputs, made, outputs;
  auto contains = [](const std::vector<Variable>& list, const Variable& variable) {
    return std::find(list.begin(), list.end(), variable) != list.end();
  };
  for (size_t i = begin; i < end; ++i) {
    if (bindings[i].match_cast) return std::nullopt;
    for (const Variable& variable : variables_of(bindings[i].value)) {
      if (!contains(made, variable) && !contains(inputs, variable)) inputs.push_back(variable);
    }
    made.push_back(bindings[i].var);
  }
  std::vector<Variable> later = variables_of(body.result);
  for (size_t i = end; i < bindings.size(); ++i) {
    for (const Variable& variable : variables_of(bindings[i].value)) later.push_back(variable);
  }
  for (size_t b = at + 1; b < body.blocks.size(); ++b) {
    for (const relax::Binding& binding : body.blocks[b].bindings) {
      for (const Variable& variable : variables_of(binding.value)) later.push_back(variable);
    }
  }
  for (const Variable& variable : made) {
    if (contains(later, variable)) outputs.push_back(variable);
  }
  if (outputs.empty()) return std::nullopt;
  // Every symbolic variable of the part must be a whole dimension of an input.
  std::vector<Var> bound, used;
  for (const Variable& input : inputs) {
    relax::collect_vars(input->annotation, used);
    const auto* tensor = relax::as_tensor(input->annotation);
    for (size_t i = 0; tensor && tensor->shape && i < tensor->shape->size(); ++i) {
      const PrimExpr& dim = (*tensor->shape)[i];
      if (dim.is_var()) relax::collect_vars(relax::shape_annotation({dim}), bound);
    }
  }
  for (size_t i = begin; i < end; ++i) {
    relax::collect_vars(bindings[i].var->annotation, used);
    relax::visit(bindings[i].value, [&](const Expr& part) {
      if (relax::as<relax::ShapeNode>(part) || relax::as<relax::PrimValueNode>(part)) {
        relax::collect_vars(relax::annotation_of(part), used);
      }
    });
  }
  for (const Var& var : used) {
    if (std::none_of(bound.begin(), bound.end(),
                     [&](const Var& other) { return other.same_as(var); })) {
      return std::nullopt;
    }
  }

  Module result = module;
  const std::string name = result.unique_name("part");
  std::vector<Expr> fields(outputs.begin(), outputs.end());
  std::vector<relax::Binding> moved(bindings.begin() + static_cast<std::ptrdiff_t>(begin),
                                    bindings.begin() + static_cast<std::ptrdiff_t>(end));
  std::vector<relax::Annotation> annotations;
  for (const Variable& output : outputs) annotations.push_back(output->annotation);
  // Printed and parsed again by the caller of the mutations, the function gets variables of its
  // own.
  Variable all = relax::make_variable("outputs", relax::tuple_annotation(annotations));
  moved.push_back({all, relax::make_tuple(fields), nullptr, {}});
  result.functions[name] =
      relax::make_function(inputs, relax::make_seq({{true, moved}}, all), all->annotation);
  relax::Block block{true, {}};
  block.bindings.assign(bindings.begin(), bindings.begin() + static_cast<std::ptrdiff_t>(begin));
  Variable returned = relax::make_variable("returned", all->annotation, true);
  block.bindings.push_back(
      {returned,
       relax::make_call(relax::make_global(name), std::vector<Expr>(inputs.begin(), inputs.end())),
       nullptr,
       {}});
  for (size_t i = 0; i < outputs.size(); ++i) {
    block.bindings.push_back(
        {outputs[i], relax::make_get_item(returned, static_cast<int>(i)), nullptr, {}});
  }
  block.bindings.insert(block.bindings.end(), bindings.begin() + static_cast<std::ptrdiff_t>(end),
                        bindings.end());
  std::vector<relax::Block> all_blocks = body.blocks;
  all_blocks[at] = std::move(block);
  result.functions[chosen.name] = with_blocks(*chosen.function, std::move(all_blocks), body.result);
  return result;
}

}  // namespace tapml::fuzz
