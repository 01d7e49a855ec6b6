#include "fuzz/reduce/shrink.h"

#include <algorithm>
#include <functional>
#include <set>

#include "build/pattern.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "passes/inline_functions.h"
#include "relax/rewrite.h"
#include "relax/visit.h"

namespace tapml::fuzz {

namespace {

using relax::Expr;
using relax::Variable;

const relax::Function& main_of(const Program& program) {
  return *relax::as_relax_function(program.module.find("main"));
}

// Main with other parts; its result annotation follows.
Program with_main(const Program& program, std::vector<Variable> params,
                  std::vector<relax::Block> blocks, Expr result) {
  std::erase_if(blocks, [](const relax::Block& block) { return block.bindings.empty(); });
  auto main = std::make_shared<relax::Function>(main_of(program));
  main->params = std::move(params);
  main->result = relax::annotation_of(result);
  main->body = relax::make_seq(std::move(blocks), std::move(result));
  Program changed = program;
  changed.module.functions["main"] = std::move(main);
  return changed;
}

struct At {
  size_t block = 0, binding = 0;
};
std::optional<At> place_of(const std::vector<relax::Block>& blocks, size_t index) {
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (index < blocks[b].bindings.size()) return At{b, index};
    index -= blocks[b].bindings.size();
  }
  return std::nullopt;
}

// The binding that makes the tuple which main returns.
std::optional<At> result_tuple(const relax::SeqNode& body) {
  for (size_t b = 0; b < body.blocks.size(); ++b) {
    for (size_t i = 0; i < body.blocks[b].bindings.size(); ++i) {
      const relax::Binding& binding = body.blocks[b].bindings[i];
      if (binding.var == body.result && relax::as<relax::TupleNode>(binding.value)) return At{b, i};
    }
  }
  return std::nullopt;
}

void read_variables(const Expr& expr, std::set<const relax::VarNode*>& read) {
  relax::visit(expr, [&](const Expr& part) {
    if (const auto* variable = relax::as<relax::VarNode>(part)) read.insert(variable);
  });
}

// Whether nothing but its value depends on the binding. Candidates are checked, so a call that
// writes may count as one that does not.
bool is_removable(const relax::Binding& binding) {
  if (binding.match_cast) return false;
  const op::OperatorInfo* info = op::called_operator_info(binding.value);
  return !info || info->pure;
}

// The body without bindings that nothing reads.
Expr without_unread(Expr body) {
  while (true) {
    std::set<const relax::VarNode*> read;
    read_variables(body, read);
    bool changed = false;
    body = relax::map_blocks(body, [&](const relax::Block& block) {
      relax::Block kept{block.dataflow, {}};
      for (const relax::Binding& binding : block.bindings) {
        if (!read.contains(binding.var.get()) && is_removable(binding)) {
          changed = true;
        } else {
          kept.bindings.push_back(binding);
        }
      }
      return kept;
    });
    if (!changed) return body;
  }
}

std::vector<Var> vars_of(const std::vector<Variable>& params) {
  std::vector<Var> vars;
  for (const Variable& param : params) relax::collect_vars(param->annotation, vars);
  return vars;
}

// Symbolic variables that the parts of a function mention.
std::set<const tapml::ExprNode*> symbols_in(const std::vector<relax::Block>& blocks) {
  std::vector<Var> vars;
  auto add = [&](const relax::Annotation& annotation) {
    if (annotation) relax::collect_vars(annotation, vars);
  };
  for (const relax::Block& block : blocks) {
    for (const relax::Binding& binding : block.bindings) {
      add(binding.var->annotation);
      add(binding.match_cast);
      relax::visit(binding.value, [&](const Expr& part) {
        if (relax::as<relax::ShapeNode>(part) || relax::as<relax::PrimValueNode>(part)) {
          add(relax::annotation_of(part));
        }
      });
    }
  }
  std::set<const tapml::ExprNode*> symbols;
  for (const Var& var : vars) symbols.insert(var.get());
  return symbols;
}

}  // namespace

Program without_unused(const Program& original) {
  Program program = original;
  for (auto& [name, function] : program.module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (!graph || build::is_pattern(graph)) continue;
    auto cleaned = std::make_shared<relax::Function>(*graph);
    cleaned->body = without_unread(graph->body);
    function = std::move(cleaned);
  }
  const relax::Function& main = main_of(program);
  const relax::SeqNode& body = relax::body_of(main);
  std::set<const relax::VarNode*> read;
  read_variables(main.body, read);
  std::vector<relax::Block> blocks = body.blocks;
  // A parameter that is not read may still give a symbolic variable.
  const auto symbols = symbols_in(blocks);
  std::vector<Variable> params;
  std::vector<interp::Value> arguments;
  for (size_t i = 0; i < main.params.size(); ++i) {
    bool needed = read.contains(main.params[i].get());
    if (!needed) {
      std::vector<Variable> others = main.params;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const std::vector<Var> given = vars_of(others);
      for (const Var& var : vars_of({main.params[i]})) {
        needed |= symbols.contains(var.get()) &&
                  std::none_of(given.begin(), given.end(),
                               [&](const Var& other) { return other.same_as(var); });
      }
    }
    if (!needed) continue;
    params.push_back(main.params[i]);
    arguments.push_back(program.arguments.at(i));
  }
  Program result = with_main(program, std::move(params), std::move(blocks), body.result);
  result.arguments = std::move(arguments);
  // Functions that main does not reach, patterns excepted.
  std::set<std::string> reached = {"main"};
  std::vector<std::string> open = {"main"};
  for (const interp::Value& argument : result.arguments) {
    if (const auto* function = std::get_if<interp::FunctionValue>(&argument.data)) {
      if (reached.insert(function->name).second) open.push_back(function->name);
    }
  }
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    const auto* function = relax::as_relax_function(result.module.find(name));
    if (!function) continue;
    relax::visit(function->body, [&](const Expr& part) {
      const auto* global = relax::as<relax::GlobalVarNode>(part);
      if (global && reached.insert(global->name).second) open.push_back(global->name);
    });
  }
  std::erase_if(result.module.functions, [&](const auto& function) {
    return !reached.contains(function.first) && !build::is_pattern(function.second.get());
  });
  return result;
}

size_t output_count(const Program& program) {
  const relax::SeqNode& body = relax::body_of(main_of(program));
  const auto* tuple = relax::as<relax::TupleNode>(body.result);
  if (!tuple) {
    const auto at = result_tuple(body);
    if (!at) return 1;
    tuple = relax::as<relax::TupleNode>(body.blocks[at->block].bindings[at->binding].value);
  }
  return tuple->fields.size();
}

std::optional<Program> with_output(const Program& program, size_t index) {
  const relax::Function& main = main_of(program);
  const relax::SeqNode& body = relax::body_of(main);
  if (output_count(program) < 2) return std::nullopt;
  std::vector<relax::Block> blocks = body.blocks;
  if (const auto* tuple = relax::as<relax::TupleNode>(body.result)) {
    return with_main(program, main.params, std::move(blocks),
                     relax::make_tuple({tuple->fields[index]}));
  }
  const auto at = result_tuple(body);
  relax::Binding& binding = blocks[at->block].bindings[at->binding];
  const Expr tuple = relax::make_tuple({relax::as<relax::TupleNode>(binding.value)->fields[index]});
  binding.var = relax::make_variable(binding.var->name, relax::annotation_of(tuple));
  binding.value = tuple;
  const Expr result = binding.var;
  return with_main(program, main.params, std::move(blocks), result);
}

size_t binding_count(const Program& program) {
  size_t count = 0;
  for (const relax::Block& block : relax::body_of(main_of(program)).blocks) {
    count += block.bindings.size();
  }
  return count;
}

std::optional<Program> with_parameter(const Program& program, size_t index) {
  const relax::Function& main = main_of(program);
  const relax::SeqNode& body = relax::body_of(main);
  const auto at = place_of(body.blocks, index);
  if (!at) return std::nullopt;
  const relax::Binding cut = body.blocks[at->block].bindings[at->binding];
  const auto* tensor = relax::as_tensor(cut.var->annotation);
  if (!tensor || !tensor->shape || !tensor->dtype || cut.var == body.result) return std::nullopt;
  std::optional<op::RefTensor> value;
  interp::CallOptions options;
  options.packed = packed_functions();
  options.max_calls = 100'000;
  options.observe = [&](const relax::Binding& binding, const op::RefTensor& found) {
    if (binding.var == cut.var) value = found;
  };
  if (!guard([&] { interp::call(program.module, "main", program.arguments, options); }) || !value) {
    return std::nullopt;
  }
  Variable param = relax::make_variable(cut.var->name, cut.var->annotation);
  std::vector<Variable> params = main.params;
  params.push_back(param);
  std::vector<relax::Block> blocks = body.blocks;
  blocks[at->block].bindings.erase(blocks[at->block].bindings.begin() +
                                   static_cast<std::ptrdiff_t>(at->binding));
  const Expr replaced =
      relax::substitute(relax::make_seq(std::move(blocks), body.result), {{cut.var.get(), param}});
  const auto& seq = *relax::as<relax::SeqNode>(replaced);
  Program result = with_main(program, std::move(params), seq.blocks, seq.result);
  result.arguments.push_back(interp::Value::tensor(op::RefTensor::from(value->to_host())));
  return result;
}

namespace {

// Calls f(binding, number) for the bindings of all functions, inner blocks first, and replaces each
// by f's result. False if f returned null for all: nothing changes.
using Replacements = std::vector<relax::Binding>;
using EditBinding = std::function<std::optional<Replacements>(const relax::Binding& binding,
                                                              size_t number, bool dataflow)>;
bool edit_bindings(Program& program, const EditBinding& edit) {
  size_t number = 0;
  bool changed = false;
  for (auto& [name, function] : program.module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (!graph || graph->facts.kernel || build::is_pattern(graph)) continue;
    const Expr body = relax::map_blocks(graph->body, [&](const relax::Block& block) {
      relax::Block result{block.dataflow, {}};
      for (const relax::Binding& binding : block.bindings) {
        const auto edited = edit(binding, number++, block.dataflow);
        changed |= edited.has_value();
        if (!edited) {
          result.bindings.push_back(binding);
        } else {
          result.bindings.insert(result.bindings.end(), edited->begin(), edited->end());
        }
      }
      return result;
    });
    auto own = std::make_shared<relax::Function>(*graph);
    own->body = body;
    function = std::move(own);
  }
  return changed;
}

// A value with the annotation that needs no operands; null if there is none.
Expr literal_of(const relax::Annotation& annotation, bool nested) {
  if (const auto* tensor = relax::as_tensor(annotation)) {
    if (!tensor->shape || !tensor->dtype) return nullptr;
    Shape shape;
    for (const PrimExpr& dim : *tensor->shape) {
      if (!dim.is_int()) {
        if (nested) return nullptr;
        return relax::make_op_call("full", {relax::make_shape(*tensor->shape)},
                                   {{"dtype", *tensor->dtype}, {"value", 1.0}});
      }
      shape.push_back(dim->int_value);
    }
    HostTensor ones = HostTensor::zeros(*tensor->dtype, shape);
    for (int64_t i = 0; i < ones.size(); ++i) ones.set_f64(i, 1);
    return relax::make_constant(ones);
  }
  if (const auto* shape = relax::as_shape(annotation)) {
    return shape->dims ? relax::make_shape(*shape->dims) : nullptr;
  }
  if (const auto* prim = relax::as_prim(annotation)) {
    if (prim->value) return relax::make_prim_value(prim->value);
    return prim->dtype == DType::kI64 ? relax::make_prim_value(PrimExpr(1)) : nullptr;
  }
  if (const auto* tuple = relax::as_tuple(annotation)) {
    std::vector<Expr> fields;
    for (const relax::Annotation& field : tuple->fields) {
      fields.push_back(literal_of(field, true));
      if (!fields.back()) return nullptr;
    }
    return relax::make_tuple(std::move(fields));
  }
  return nullptr;
}

bool is_literal(const Expr& value) {
  switch (value->kind) {
    case relax::ExprKind::kConstant:
    case relax::ExprKind::kShape:
    case relax::ExprKind::kPrimValue:
      return true;
    case relax::ExprKind::kTuple: {
      const auto& fields = relax::as<relax::TupleNode>(value)->fields;
      return std::all_of(fields.begin(), fields.end(), is_literal);
    }
    default:
      return relax::called_operator(value) == "full";
  }
}

}  // namespace

size_t all_binding_count(const Program& program) {
  Program copy = program;
  size_t count = 0;
  edit_bindings(copy, [&](const relax::Binding&, size_t number, bool) {
    count = number + 1;
    return std::optional<Replacements>();
  });
  return count;
}

Program without_parameter(const Program& program, size_t index) {
  const relax::Function& main = main_of(program);
  const relax::SeqNode& body = relax::body_of(main);
  std::vector<Variable> params = main.params;
  params.erase(params.begin() + static_cast<std::ptrdiff_t>(index));
  Program result = with_main(program, std::move(params), body.blocks, body.result);
  result.arguments.erase(result.arguments.begin() + static_cast<std::ptrdiff_t>(index));
  return result;
}

std::optional<Program> without_unused_bindings(const Program& program, size_t begin, size_t end) {
  std::set<const relax::VarNode*> read;
  for (const auto& [name, function] : program.module.functions) {
    if (const auto* graph = relax::as_relax_function(function.get())) {
      read_variables(graph->body, read);
    }
  }
  Program result = program;
  const bool changed = edit_bindings(
      result,
      [&](const relax::Binding& binding, size_t number, bool) -> std::optional<Replacements> {
        const bool unread = !read.contains(binding.var.get()) && is_removable(binding);
        if (number < begin || number >= end || !unread) return std::nullopt;
        return Replacements();
      });
  return changed ? std::optional(result) : std::nullopt;
}

std::optional<Program> with_literals(const Program& program, size_t begin, size_t end) {
  Program result = program;
  const bool changed = edit_bindings(
      result,
      [&](const relax::Binding& binding, size_t number, bool) -> std::optional<Replacements> {
        if (number < begin || number >= end || binding.match_cast || is_literal(binding.value)) {
          return std::nullopt;
        }
        const Expr value = literal_of(binding.var->annotation, false);
        if (!value) return std::nullopt;
        return Replacements{{binding.var, value, nullptr, {}}};
      });
  return changed ? std::optional(result) : std::nullopt;
}

std::optional<Program> with_operand(const Program& program, size_t index, size_t operand) {
  Program result = program;
  const bool changed = edit_bindings(
      result,
      [&](const relax::Binding& binding, size_t number, bool) -> std::optional<Replacements> {
        const auto* call = relax::as<relax::CallNode>(binding.value);
        if (number != index || !call || operand >= call->args.size()) return std::nullopt;
        if (!relax::as<relax::VarNode>(call->args[operand])) return std::nullopt;
        return Replacements{{binding.var, call->args[operand], nullptr, {}}};
      });
  return changed ? std::optional(result) : std::nullopt;
}

std::optional<Program> with_branch(const Program& program, size_t index, bool then) {
  Program result = program;
  const bool changed = edit_bindings(
      result,
      [&](const relax::Binding& binding, size_t number, bool) -> std::optional<Replacements> {
        const auto* node = relax::as<relax::IfNode>(binding.value);
        if (number != index || !node || binding.match_cast) return std::nullopt;
        const auto* branch =
            relax::as<relax::SeqNode>(then ? node->then_branch : node->else_branch);
        if (!branch) return std::nullopt;
        Replacements spliced;
        for (const relax::Block& block : branch->blocks) {
          for (const relax::Binding& inner : block.bindings) {
            // The block of an if is a plain one.
            if (inner.var->dataflow) return std::nullopt;
            spliced.push_back(inner);
          }
        }
        spliced.push_back({binding.var, branch->result, nullptr, {}});
        return spliced;
      });
  return changed ? std::optional(result) : std::nullopt;
}

std::optional<Program> with_inlined(const Program& program) {
  Program result = program;
  bool any = false;
  for (auto& [name, function] : result.module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (!graph || name == "main" || build::is_pattern(graph) || graph->facts.is_inline) continue;
    auto marked = std::make_shared<relax::Function>(*graph);
    marked->facts.is_inline = true;
    function = std::move(marked);
    any = true;
  }
  if (!any) return std::nullopt;
  if (!guard([&] { result.module = passes::inline_functions(result.module); })) return std::nullopt;
  return result;
}

std::vector<int64_t> extents(const Program& program) {
  std::set<int64_t> found;
  for (const interp::Value& argument : program.arguments) {
    const auto* tensor = std::get_if<op::RefTensor>(&argument.data);
    if (!tensor) continue;
    for (const int64_t extent : tensor->shape) {
      if (extent > 1) found.insert(extent);
    }
  }
  return {found.rbegin(), found.rend()};
}

namespace {

// The leading part of a tensor.
HostTensor leading(const HostTensor& tensor, const Shape& shape) {
  HostTensor part = HostTensor::zeros(tensor.dtype(), shape);
  const size_t bytes = dtype_bytes(tensor.dtype());
  for (int64_t i = 0; i < part.size(); ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      from += rest % shape[d] * stride;
      rest /= shape[d];
      stride *= tensor.shape()[d];
    }
    std::copy_n(tensor.bytes().begin() + from * static_cast<int64_t>(bytes), bytes,
                part.mutable_bytes().begin() + i * static_cast<int64_t>(bytes));
  }
  return part;
}

}  // namespace

std::optional<Program> with_extent(const Program& program, int64_t extent, int64_t instead) {
  if (instead >= extent) return std::nullopt;
  Program result = program;
  for (auto& [name, function] : result.module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (!graph) continue;
    function = relax::map_symbols(*graph, [&](const PrimExpr& expr) -> PrimExpr {
      return expr.is_int() && expr->int_value == extent ? PrimExpr(instead) : expr;
    });
  }
  for (interp::Value& argument : result.arguments) {
    if (auto* dims = std::get_if<std::vector<int64_t>>(&argument.data)) {
      std::replace(dims->begin(), dims->end(), extent, instead);
    }
    const auto* tensor = std::get_if<op::RefTensor>(&argument.data);
    if (!tensor) continue;
    Shape shape = tensor->shape;
    std::replace(shape.begin(), shape.end(), extent, instead);
    if (shape == tensor->shape) continue;
    argument = interp::Value::tensor(op::RefTensor::from(leading(tensor->to_host(), shape)));
  }
  return result;
}

std::optional<Program> with_elements(const Program& program, size_t index, double value) {
  const auto* tensor = std::get_if<op::RefTensor>(&program.arguments.at(index).data);
  if (!tensor) return std::nullopt;
  HostTensor filled = HostTensor::zeros(tensor->dtype, tensor->shape);
  for (int64_t i = 0; i < filled.size(); ++i) filled.set_f64(i, value);
  const HostTensor before = tensor->to_host();
  if (std::equal(before.bytes().begin(), before.bytes().end(), filled.bytes().begin())) {
    return std::nullopt;
  }
  Program result = program;
  result.arguments[index] = interp::Value::tensor(op::RefTensor::from(filled));
  return result;
}

}  // namespace tapml::fuzz
