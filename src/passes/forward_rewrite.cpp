#include "passes/forward_rewrite.h"

#include <algorithm>

#include "op/operator.h"
#include "op/shapes.h"
#include "passes/kernel.h"
#include "passes/legalize.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool is_atom(const Expr& expr) {
  return expr->kind == relax::ExprKind::kVar || expr->kind == relax::ExprKind::kConstant ||
         expr->kind == relax::ExprKind::kShape || expr->kind == relax::ExprKind::kPrimValue;
}

bool same_dims(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  if (!a || !b) return !a && !b;
  if (a->size() != b->size()) return false;
  for (size_t i = 0; i < a->size(); ++i) {
    if (!op::provably_equal((*a)[i], (*b)[i])) return false;
  }
  return true;
}

// Whether one variable can replace another without losing information. For functions, only where
// that is obvious.
bool same_annotation(const Annotation& a, const Annotation& b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  if (a->kind == AnnotationKind::kObject) return true;
  if (const auto* tensor = as_tensor(a)) {
    const auto* other = as_tensor(b);
    return tensor->dtype == other->dtype && tensor->ndim == other->ndim &&
           same_dims(tensor->shape, other->shape);
  }
  if (const auto* shape = as_shape(a)) {
    const auto* other = as_shape(b);
    return shape->ndim == other->ndim && same_dims(shape->dims, other->dims);
  }
  if (const auto* prim = as_prim(a)) {
    const auto* other = as_prim(b);
    if (prim->dtype != other->dtype || !prim->value != !other->value) return false;
    return !prim->value || same_expr(prim->value, other->value) ||
           (prim->dtype == DType::kI64 && op::provably_equal(prim->value, other->value));
  }
  if (const auto* tuple = as_tuple(a)) {
    const auto* other = as_tuple(b);
    return tuple->fields.size() == other->fields.size() &&
           std::equal(tuple->fields.begin(), tuple->fields.end(), other->fields.begin(),
                      same_annotation);
  }
  return false;
}

// Whether a value of annotation `known` gives the binding's variable all its information. A
// match_cast must also have nothing left to find out, since others may use its symbols although the
// variable does not mention them.
bool surely_has(const Binding& binding, const Annotation& known) {
  return same_annotation(binding.var->annotation, known) &&
         (!binding.match_cast || same_annotation(binding.match_cast, known));
}

// Operands that the call updates in place.
std::vector<Expr> updated(const Expr& value) {
  std::vector<Expr> result;
  const auto* call = as<CallNode>(value);
  if (!call) return result;
  const std::string& name = called_operator(value);
  if (name == "call_tir_inplace") {
    const auto* indices = find_attr<std::vector<int64_t>>(call->attrs, kInoutAttr);
    if (!indices) return result;
    for (int64_t index : *indices) {
      if (index >= 0) result.push_back(call_tir_args(*call).at(static_cast<size_t>(index)));
    }
  } else if (const op::OperatorInfo* info = op::called_operator_info(value)) {
    for (int64_t index : info->inout) {
      if (index >= 0) result.push_back(call->args.at(static_cast<size_t>(index)));
    }
  }
  return result;
}

}  // namespace

relax::Expr tuple_field(const relax::Expr& tuple, int index) {
  const auto* node = relax::as<relax::TupleNode>(tuple);
  if (!node || index < 0 || static_cast<size_t>(index) >= node->fields.size()) return nullptr;
  return node->fields[static_cast<size_t>(index)];
}

std::set<const VarNode*> consumed_variables(const Expr& body) {
  std::vector<const Binding*> bindings;
  visit_bindings(body, [&](const Binding& binding, bool) { bindings.push_back(&binding); });
  std::set<const VarNode*> consumed;
  auto consume = [&](const Expr& expr) {
    visit(expr, [&](const Expr& e) {
      if (const auto* var = as<VarNode>(e)) consumed.insert(var);
    });
  };
  for (size_t i = bindings.size(); i-- > 0;) {
    const Binding& binding = *bindings[i];
    for (const Expr& operand : updated(binding.value)) consume(operand);
    if (!consumed.contains(binding.var.get())) continue;
    const auto* call = as<CallNode>(binding.value);
    if (!call) {
      consume(binding.value);  // an alias, a tuple, a field, a match_cast
    } else if (is_view(called_operator(binding.value))) {
      consume(call->args.at(0));
    }
  }
  return consumed;
}

Expr ForwardRewrite::run(const Function& function, const Module& module, bool writes) {
  writes_ = writes;
  if (writes || !function.pure) aliases_ = analysis::alias_sets(function, &module);
  return run(function.body);
}

Expr ForwardRewrite::run(const Expr& body) {
  consumed_ = consumed_variables(body);
  Expr result = rewrite_body(body);
  if (origins_.empty()) return result;
  return map_blocks(result, [&](Block block) {
    for (Binding& binding : block.bindings) {
      auto it = origins_.find(binding.var.get());
      if (it != origins_.end()) binding.origin = merge_origins(binding.origin, it->second);
    }
    return block;
  });
}

Expr ForwardRewrite::rewrite_body(const Expr& body) {
  Expr mapped = map_bodies(body, [&](const Expr& inner) { return rewrite_body(inner); });
  if (mapped) return mapped;
  const auto* seq = as<SeqNode>(body);
  if (!seq) return substitute(body, replaced_);
  enter_scope();
  auto outer_block = std::exchange(block_variables_, {});
  std::vector<Block> blocks;
  for (const Block& block : seq->blocks) {
    Block own = rewrite_block(block);
    if (!own.bindings.empty()) blocks.push_back(std::move(own));
  }
  Expr result = substitute(seq->result, replaced_);
  block_variables_ = std::move(outer_block);
  leave_scope();
  return make_seq(std::move(blocks), std::move(result));
}

Block ForwardRewrite::rewrite_block(const Block& block) {
  Block own{.dataflow = block.dataflow, .bindings = {}};
  block_variables_.clear();
  renamed_.clear();
  for (const Binding& binding : block.bindings) {
    Binding copy = binding;
    copy.value = rewrite_body(binding.value);
    Expr value = consumed_.contains(copy.var.get()) ? nullptr : rewrite(copy, block.dataflow);
    if (value) value = substitute(value, replaced_);
    const bool atom = value && is_atom(value);
    if (value && takes_consumed(value, copy.value)) value = nullptr;
    if (value && aliases_ && may_tell(copy, value)) value = nullptr;
    if (value && atom && !surely_has(copy, annotation_of(value))) value = nullptr;
    if (value && atom && may_replace(copy.var, value, block.dataflow)) {
      const auto* from = as<VarNode>(value);
      if (from && from->dataflow && !copy.var->dataflow) {
        // The block's result: its value is bound directly to the result's name.
        renamed_[from] = copy.var;
        origins_[copy.var.get()] = merge_origins(origins_[copy.var.get()], copy.origin);
        std::vector<const VarNode*>& moved = stands_for_[copy.var.get()];
        moved = std::exchange(stands_for_[from], {});
        moved.push_back(from);
        for (const VarNode* var : moved) replaced_[var] = copy.var;
        values_[copy.var.get()] = values_[from];
        continue;
      }
      replaced_[copy.var.get()] = value;
      if (!from) continue;
      stands_for_[from].push_back(copy.var.get());
      origins_[from] = merge_origins(origins_[from], copy.origin);
      continue;
    }
    if (value) copy.value = std::move(value);
    if (!copy.match_cast) values_[copy.var.get()] = copy.value;
    if (block.dataflow && copy.var->dataflow) block_variables_.insert(copy.var.get());
    own.bindings.push_back(std::move(copy));
  }
  if (renamed_.empty()) return own;
  for (Binding& binding : own.bindings) {
    binding.value = substitute(binding.value, renamed_);
    auto it = renamed_.find(binding.var.get());
    if (it != renamed_.end()) binding.var = std::static_pointer_cast<const VarNode>(it->second);
  }
  return own;
}

bool ForwardRewrite::may_replace(const Variable& var, const Expr& atom, bool dataflow) const {
  const auto* from = as<VarNode>(atom);
  if (!from) return true;
  if (consumed_.contains(from)) return false;
  if (!from->dataflow || var->dataflow) return true;
  return dataflow && block_variables_.contains(from) && !renamed_.contains(from);
}

// Whether `value` reads storage that is updated and `instead_of` does not: the contents may have
// changed between the two.
bool ForwardRewrite::takes_consumed(const Expr& value, const Expr& instead_of) const {
  if (consumed_.empty()) return false;
  std::set<const VarNode*> known;
  visit(instead_of, [&](const Expr& e) {
    if (const auto* var = as<VarNode>(e)) known.insert(var);
  });
  bool takes = value->kind == relax::ExprKind::kVar && consumed_.contains(as<VarNode>(value));
  visit(value, [&](const Expr& e) {
    const auto* var = as<VarNode>(e);
    takes |= var && consumed_.contains(var) && !known.contains(var);
  });
  return takes;
}

// Whether a write can observe that `value` replaces that of `binding`.
bool ForwardRewrite::may_tell(const Binding& binding, const Expr& value) const {
  const auto* call = as<CallNode>(binding.value);
  if (!call) return false;  // already an alias
  bool written = false;
  for (const Expr* expr : {&binding.value, &value}) {
    visit(*expr, [&](const Expr& e) {
      const auto* var = as<VarNode>(e);
      written |= var && aliases_->may_be_written(var);
    });
  }
  if (written) return true;
  if (!is_atom(value)) return false;
  const VarNode* var = binding.var.get();
  if (aliases_->may_be_written(var)) return true;
  // The two would share one storage: the caller may write one and read the other.
  const auto* from = as<VarNode>(value);
  return writes_ && aliases_->is_shared(var) && (!from || aliases_->is_shared(from));
}

bool ForwardRewrite::is_visible(const Expr& expr) const {
  bool visible = true;
  visit(expr, [&](const Expr& e) {
    const auto* var = as<VarNode>(e);
    if (var && var->dataflow) visible &= block_variables_.contains(var);
  });
  return visible;
}

Expr ForwardRewrite::value_of(const Expr& operand) const {
  const auto* var = as<VarNode>(operand);
  auto it = var ? values_.find(var) : values_.end();
  return it == values_.end() || !it->second || !is_visible(it->second) ? operand : it->second;
}

const CallNode* ForwardRewrite::producer(const Expr& operand) const {
  return as<CallNode>(value_of(operand));
}

}  // namespace tapml::passes
