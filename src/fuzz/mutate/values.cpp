// Mutations of values and blocks: what they add computes nothing new.
#include <algorithm>
#include <numeric>

#include "build/block_builder.h"
#include "fuzz/mutate/mutate.h"
#include "fuzz/mutate/parts.h"
#include "op/generate.h"
#include "relax/rewrite.h"

namespace tapml::fuzz {

using relax::Expr;
using relax::Variable;

namespace {

// A place before a binding of a block, at the top level of a function.
struct Place {
  std::string name;
  relax::FunctionRef function;
  size_t block = 0, binding = 0;
};

std::optional<Place> any_place(const Module& module, RandomStream& rng, bool dataflow) {
  Place place;
  place.name = op::pick(graph_functions_of(module), rng);
  place.function = std::static_pointer_cast<const relax::Function>(module.functions.at(place.name));
  const std::vector<relax::Block>& blocks = relax::body_of(*place.function).blocks;
  std::vector<size_t> fitting;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].bindings.empty() && (!dataflow || blocks[i].dataflow)) fitting.push_back(i);
  }
  if (fitting.empty()) return std::nullopt;
  place.block = op::pick(fitting, rng);
  place.binding = rng.below(static_cast<uint32_t>(blocks[place.block].bindings.size()));
  return place;
}

// Calls that return their argument together; null stands for the same call again.
std::vector<Expr> identity_calls(const Variable& x, const relax::TensorAnnotation& tensor,
                                 RandomStream& rng) {
  const DType dtype = *tensor.dtype;
  const Dims& shape = *tensor.shape;
  std::vector<int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  const HostTensor one = [&] {
    HostTensor tensor = HostTensor::zeros(dtype, {});
    if (dtype != DType::kBool) tensor.set_f64(0, 1);
    return tensor;
  }();
  switch (rng.below(5)) {
    case 0:
      return {relax::make_op_call("cast", {x}, {{"dtype", dtype}})};
    case 1:
      return {relax::make_op_call("reshape", {x, relax::make_shape(shape)})};
    case 2:
      if (axes.empty()) break;
      return {relax::make_op_call("permute", {x}, {{"axes", axes}})};
    case 3:
      if (dtype == DType::kBool) break;
      return {relax::make_op_call("multiply", {x, relax::make_constant(one)})};
    default: {
      if (dtype == DType::kBool || is_unsigned_integer(dtype)) break;
      return {relax::make_op_call("negative", {x}), nullptr};
    }
  }
  return {};
}

std::optional<Module> with_bindings(const Module& module, const Place& place,
                                    std::vector<relax::Binding> added, bool replaces) {
  const relax::SeqNode& body = relax::body_of(*place.function);
  std::vector<relax::Block> blocks = body.blocks;
  auto& bindings = blocks[place.block].bindings;
  const auto at = bindings.begin() + static_cast<std::ptrdiff_t>(place.binding);
  const auto next = replaces ? bindings.erase(at) : at;
  bindings.insert(next, added.begin(), added.end());
  Module result = module;
  result.functions[place.name] = with_blocks(*place.function, std::move(blocks), body.result);
  return result;
}

}  // namespace

std::optional<Module> add_identity(const Module& module, RandomStream& rng) {
  const auto place = any_place(module, rng, true);
  if (!place) return std::nullopt;
  const relax::Binding& binding =
      relax::body_of(*place->function).blocks[place->block].bindings[place->binding];
  const auto* tensor = relax::as_tensor(binding.var->annotation);
  if (!tensor || !tensor->shape || !tensor->dtype || binding.match_cast) return std::nullopt;
  // The value gets a new name, and the old name is what the identity returns.
  Variable before = relax::make_variable("before", binding.var->annotation, true);
  std::vector<relax::Binding> added = {{before, binding.value, nullptr, binding.origin}};
  std::vector<Expr> calls = identity_calls(before, *tensor, rng);
  if (calls.empty()) return std::nullopt;
  if (!calls.back()) {
    Variable middle = relax::make_variable("middle", binding.var->annotation, true);
    added.push_back({middle, calls[0], nullptr, {}});
    calls.back() = relax::make_op_call("negative", {middle});
  }
  added.push_back({binding.var, calls.back(), nullptr, {}});
  return with_bindings(module, *place, std::move(added), true);
}

std::optional<Module> add_dead_code(const Module& module, RandomStream& rng) {
  const auto place = any_place(module, rng, true);
  if (!place) return std::nullopt;
  std::vector<Variable> readable = place->function->params;
  const auto& bindings = relax::body_of(*place->function).blocks[place->block].bindings;
  for (size_t i = 0; i < place->binding; ++i) readable.push_back(bindings[i].var);
  std::erase_if(readable, [](const Variable& variable) {
    const auto* tensor = relax::as_tensor(variable->annotation);
    return !tensor || !tensor->shape || !tensor->dtype || *tensor->dtype == DType::kBool;
  });
  if (readable.empty()) return std::nullopt;
  const Variable& x = op::pick(readable, rng);
  Variable dead = relax::make_variable("dead", x->annotation, true);
  return with_bindings(module, *place, {{dead, relax::make_op_call("abs", {x}), nullptr, {}}},
                       false);
}

std::optional<Module> split_block(const Module& module, RandomStream& rng) {
  const auto place = any_place(module, rng, true);
  if (!place || place->binding == 0) return std::nullopt;
  const relax::SeqNode& body = relax::body_of(*place->function);
  const auto& bindings = body.blocks[place->block].bindings;
  // What the second block reads of the first is no longer private to it.
  relax::ExprMap shown;
  relax::Block first{true, {}}, second{true, {}};
  for (size_t i = 0; i < bindings.size(); ++i) {
    relax::Binding binding = bindings[i];
    binding.value = relax::substitute(binding.value, shown);
    if (i >= place->binding) {
      second.bindings.push_back(std::move(binding));
      continue;
    }
    if (binding.var->dataflow) {
      const Variable variable = relax::make_variable(binding.var->name, binding.var->annotation);
      shown.emplace(binding.var.get(), variable);
      binding.var = variable;
    }
    first.bindings.push_back(std::move(binding));
  }
  std::vector<relax::Block> blocks = body.blocks;
  blocks[place->block] = std::move(first);
  blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(place->block) + 1, std::move(second));
  Module result = module;
  result.functions[place->name] = with_blocks(*place->function, std::move(blocks), body.result);
  return result;
}

std::optional<Module> wrap_in_if(const Module& module, RandomStream& rng) {
  const std::string name = op::pick(graph_functions_of(module), rng);
  const auto function = std::static_pointer_cast<const relax::Function>(module.functions.at(name));
  const relax::SeqNode& body = relax::body_of(*function);
  if (body.blocks.empty() || !build::is_atom(body.result)) return std::nullopt;
  // The other branch computes the same, so both have one annotation.
  const size_t at = rng.below(static_cast<uint32_t>(body.blocks.size()));
  auto node = std::make_shared<relax::IfNode>();
  node->condition = relax::make_prim_value(make_bool(rng.chance(0.5)));
  const Expr branch = relax::make_seq(
      {body.blocks.begin() + static_cast<std::ptrdiff_t>(at), body.blocks.end()}, body.result);
  node->then_branch = branch;
  node->else_branch = branch;
  relax::Block last{false, {}};
  Variable joined = relax::make_variable("joined", function->result);
  last.bindings.push_back({joined, node, nullptr, {}});
  std::vector<relax::Block> blocks(body.blocks.begin(),
                                   body.blocks.begin() + static_cast<std::ptrdiff_t>(at));
  blocks.push_back(std::move(last));
  Module result = module;
  result.functions[name] = with_blocks(*function, std::move(blocks), joined);
  return result;
}

}  // namespace tapml::fuzz
