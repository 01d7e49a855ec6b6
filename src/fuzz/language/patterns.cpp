#include "fuzz/language/patterns.h"

#include <algorithm>
#include <map>
#include <set>

#include "build/pattern.h"
#include "op/operator.h"
#include "passes/graph_functions.h"

namespace tapml::fuzz {

using relax::Annotation;
using relax::Expr;
using relax::Variable;

namespace {

using Uses = std::map<const relax::VarNode*, int>;

std::vector<const relax::Block*> dataflow_blocks(const Expr& body) {
  std::vector<const relax::Block*> blocks;
  relax::visit(body, [&](const Expr& expr) {
    const auto* seq = relax::as<relax::SeqNode>(expr);
    if (!seq) return;
    for (const relax::Block& block : seq->blocks) {
      if (block.dataflow) blocks.push_back(&block);
    }
  });
  return blocks;
}

bool may_be_in_pattern(const op::OperatorInfo* info) {
  return info && info->outputs == 1 && info->inout.empty() && info->legalize;
}

bool may_be_member(const relax::Binding& binding) {
  return !binding.match_cast &&
         may_be_in_pattern(op::find_operator(relax::called_operator(binding.value)));
}

Uses uses_in(const Expr& value) {
  Uses uses;
  relax::visit(value, [&](const Expr& expr) {
    if (const auto* var = relax::as<relax::VarNode>(expr)) ++uses[var];
  });
  return uses;
}

// Calls of a block that lead to binding `last`, whose inner values have no other uses.
std::set<size_t> connected_calls(const relax::Block& block, const Uses& uses, size_t last,
                                 size_t most, RandomStream& rng) {
  std::set<size_t> members = {last};
  Uses inside = uses_in(block.bindings[last].value);
  bool grown = true;
  while (grown && members.size() < most) {
    grown = false;
    for (size_t i = last; i-- > 0;) {
      const relax::Binding& binding = block.bindings[i];
      auto used = inside.find(binding.var.get());
      if (members.contains(i) || used == inside.end() || !may_be_member(binding)) continue;
      if (!binding.var->dataflow || used->second != uses.at(binding.var.get())) continue;
      if (rng.chance(0.2)) continue;
      members.insert(i);
      for (const auto& [var, count] : uses_in(binding.value)) inside[var] += count;
      grown = true;
      break;
    }
  }
  return members;
}

class PatternWriter {
 public:
  PatternWriter(const relax::Block& block, RandomStream& rng) : block_(block), rng_(rng) {}

  relax::FunctionRef write(const std::set<size_t>& members) {
    std::vector<relax::Binding> bindings;
    for (size_t member : members) {
      const relax::Binding& binding = block_.bindings[member];
      const bool last = member == *members.rbegin();
      Variable var = relax::make_variable("v" + std::to_string(bindings.size()),
                                          known_inside(binding.var->annotation), !last);
      bindings.push_back({var, call(*relax::as<relax::CallNode>(binding.value)), nullptr, {}});
      values_[binding.var.get()] = var;
    }
    if (rng_.chance(0.3)) add_condition();
    Variable result = bindings.back().var;
    return relax::make_function(params_, relax::make_seq({{true, std::move(bindings)}}, result),
                                relax::object_annotation(), {{"pattern", true}});
  }

 private:
  Expr call(const relax::CallNode& found) {
    std::vector<Expr> args;
    for (const Expr& arg : found.args) args.push_back(operand(arg));
    std::string name = relax::as<relax::OperatorNode>(found.callee)->name;
    if ((name == "add" || name == "multiply") && rng_.chance(0.5)) std::swap(args[0], args[1]);
    AttrMap attrs;
    for (const auto& [key, value] : op::view_call(found).attrs) {
      if (rng_.chance(0.4)) attrs[key] = value;
    }
    if (rng_.chance(0.3)) {
      const auto table = op::operator_table();
      const op::OperatorInfo* other = table[rng_.below(static_cast<uint32_t>(table.size()))];
      if (may_be_in_pattern(other)) {
        name = rng_.chance(0.5) ? name + "|" + other->name : other->name + ("|" + name);
      }
    }
    return relax::make_op_call(name, std::move(args), std::move(attrs));
  }

  Expr operand(const Expr& found) {
    if (const auto* var = relax::as<relax::VarNode>(found)) {
      Variable& value = values_[var];
      if (!value) value = parameter(var->annotation);
      return value;
    }
    if (const auto* tuple = relax::as<relax::TupleNode>(found)) {
      std::vector<Expr> fields;
      for (const Expr& field : tuple->fields) fields.push_back(operand(field));
      return relax::make_tuple(std::move(fields));
    }
    if (rng_.chance(0.5)) return parameter(relax::annotation_of(found));
    if (const auto* shape = relax::as<relax::ShapeNode>(found)) {
      Dims dims;
      for (const PrimExpr& dim : shape->dims) {
        PrimExpr own = over_symbols(dim);
        if (!own) return parameter(relax::annotation_of(found));
        dims.push_back(std::move(own));
      }
      return relax::make_shape(std::move(dims));
    }
    if (const auto* prim = relax::as<relax::PrimValueNode>(found)) {
      PrimExpr own = over_symbols(prim->value);
      return own ? relax::make_prim_value(own) : parameter(relax::annotation_of(found));
    }
    return found;  // a constant
  }

  Variable parameter(const Annotation& known) {
    params_.push_back(relax::make_variable("p" + std::to_string(params_.size()), part_of(known)));
    return params_.back();
  }

  // An annotation that certainly holds for any value of `known`.
  Annotation part_of(const Annotation& known) {
    if (rng_.chance(0.25)) return relax::object_annotation();
    if (const auto* tensor = relax::as_tensor(known); tensor && tensor->shape) {
      if (rng_.chance(0.3)) return known_inside(known);
      return relax::tensor_annotation(named(*tensor->shape),
                                      rng_.chance(0.8) ? tensor->dtype : std::nullopt);
    }
    if (const auto* shape = relax::as_shape(known); shape && shape->dims) {
      return rng_.chance(0.5) ? relax::shape_annotation(named(*shape->dims))
                              : relax::shape_annotation_ndim(shape->ndim);
    }
    return relax::object_annotation();
  }

  // The same without symbolic variables.
  Annotation known_inside(const Annotation& known) {
    const auto* tensor = relax::as_tensor(known);
    if (!tensor || rng_.chance(0.5)) return relax::object_annotation();
    return relax::tensor_annotation_ndim(rng_.chance(0.8) ? tensor->ndim : relax::kUnknownNdim,
                                         rng_.chance(0.8) ? tensor->dtype : std::nullopt);
  }

  Dims named(const Dims& dims) {
    Dims result;
    for (const PrimExpr& dim : dims) {
      if (dim.is_int() && rng_.chance(0.6)) {
        result.push_back(dim);
        continue;
      }
      PrimExpr known = rng_.chance(0.5) ? over_symbols(dim) : PrimExpr();
      result.push_back(known ? known : symbol(dim));
    }
    return result;
  }

  Var symbol(const PrimExpr& found) {
    for (const auto& [expr, own] : symbols_) {
      if (same_expr(expr, found)) return own;
    }
    symbols_.emplace_back(found, make_var("s" + std::to_string(symbols_.size())));
    return symbols_.back().second;
  }

  // The expression over the pattern's own variables; null if it lacks one of them.
  PrimExpr over_symbols(const PrimExpr& found) const {
    VarMap own;
    for (const auto& [expr, var] : symbols_) {
      if (expr.is_var()) own.emplace(expr.get(), var);
    }
    for (const Var& var : free_vars(found)) {
      if (!own.contains(var.get())) return {};
    }
    return substitute(found, own);
  }

  void add_condition() {
    if (symbols_.empty()) return;
    const auto& [found, own] = symbols_[rng_.below(static_cast<uint32_t>(symbols_.size()))];
    const PrimExpr holds =
        found.is_int() ? le(own, found->int_value + rng_.between(0, 2)) : lt(own, own + 1);
    params_.push_back(
        relax::make_variable("condition", relax::prim_annotation(DType::kBool, holds)));
  }

  const relax::Block& block_;
  RandomStream& rng_;
  std::map<const relax::VarNode*, Variable> values_;  // replacements for variables of the block
  std::vector<Variable> params_;
  std::vector<std::pair<PrimExpr, Var>> symbols_;  // the expression that each symbol replaces
};

}  // namespace

void add_random_patterns(Module& module, RandomStream& rng, int most) {
  struct Place {
    const relax::Block* block;
    size_t binding;
    const Uses* uses;
  };
  const Module source = module;
  std::vector<Place> places;
  std::vector<std::unique_ptr<Uses>> all_uses;
  for (const auto& [name, function] : passes::graph_functions(source)) {
    all_uses.push_back(std::make_unique<Uses>(relax::use_counts(function->body)));
    for (const relax::Block* block : dataflow_blocks(function->body)) {
      for (size_t i = 0; i < block->bindings.size(); ++i) {
        if (may_be_member(block->bindings[i])) places.push_back({block, i, all_uses.back().get()});
      }
    }
  }
  if (places.empty()) return;
  for (int made = 0; made < most; ++made) {
    const Place& place = op::pick(places, rng);
    const auto members =
        connected_calls(*place.block, *place.uses, place.binding, 1 + rng.below(4), rng);
    module.functions["pattern" + std::to_string(made)] =
        PatternWriter(*place.block, rng).write(members);
  }
}

std::vector<std::string> patterns_without_match(const Module& module) {
  std::set<std::string> missing;
  for (const auto& [name, function] : module.functions) {
    if (build::is_pattern(function.get())) missing.insert(name);
  }
  for (const auto& [name, function] : passes::graph_functions(module)) {
    const Uses uses = relax::use_counts(function->body);
    for (const relax::Block* block : dataflow_blocks(function->body)) {
      const build::PatternMatcher matcher(*block, uses);
      std::erase_if(missing, [&](const std::string& pattern) {
        const auto* wanted = relax::as_relax_function(module.find(pattern));
        for (size_t last = 0; last < block->bindings.size(); ++last) {
          if (matcher.match(*wanted, last)) return true;
        }
        return false;
      });
    }
  }
  return {missing.begin(), missing.end()};
}

}  // namespace tapml::fuzz
