#include "passes/name_shapes.h"

#include <optional>
#include <set>
#include <utility>

#include "arith/analyzer.h"
#include "arith/broadcast_dim.h"
#include "base/undo_map.h"
#include "ir/symbol.h"
#include "op/operand_checks.h"
#include "passes/contradictions.h"
#include "passes/graph_functions.h"
#include "passes/shape_check.h"
#include "relax/check_location.h"
#include "relax/rewrite.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Nested ifs for one call: three branches for each pair of dimensions.
constexpr int kMostDecisions = 3;

// Whether `found` has a shape or value that `stored` leaves open.
bool is_finer(const Annotation& found, const Annotation& stored) {
  if (found->kind != stored->kind) return stored->kind == AnnotationKind::kObject;
  if (const auto* tensor = as_tensor(found)) return tensor->shape && !as_tensor(stored)->shape;
  if (const auto* shape = as_shape(found)) return shape->dims && !as_shape(stored)->dims;
  if (const auto* prim = as_prim(found)) return prim->value && !as_prim(stored)->value;
  const auto *fields = as_tuple(found), *old = as_tuple(stored);
  if (!fields || fields->fields.size() != old->fields.size()) return false;
  bool finer = false;
  for (size_t i = 0; i < fields->fields.size(); ++i) {
    finer |= is_finer(fields->fields[i], old->fields[i]);
  }
  return finer;
}

bool is_open(const Annotation& annotation) {
  const auto* tensor = as_tensor(annotation);
  return tensor && !tensor->shape && tensor->dtype && tensor->ndim != kUnknownNdim;
}

// `sizes`: dimensions of a tensor.
Dims named_dims(const std::string& name, int ndim, bool sizes) {
  Dims dims;
  for (int i = 0; i < ndim; ++i) {
    const std::string own = name + "_d" + std::to_string(i);
    dims.push_back(sizes ? make_size(own) : make_var(own));
  }
  return dims;
}

// The annotation that names a variable's dimensions, or its value, by a cast; null if they have
// names already, or if even their number is unknown.
Annotation with_names(const VarNode& var, std::optional<op::ArgumentKind> kind) {
  const Annotation& own = var.annotation;
  if (is_open(own)) {
    const auto* tensor = as_tensor(own);
    return tensor_annotation(named_dims(var.name, tensor->ndim, true), tensor->dtype);
  }
  const auto* shape = as_shape(own);
  if (shape && !shape->dims && shape->ndim != kUnknownNdim) {
    return shape_annotation(named_dims(var.name, shape->ndim, false));
  }
  const auto* prim = as_prim(own);
  if ((prim && !prim->value && prim->dtype == DType::kI64) ||
      (kind == op::ArgumentKind::kPrim && own->kind == AnnotationKind::kObject)) {
    return prim_annotation(DType::kI64, make_var(var.name + "_value"));
  }
  return nullptr;
}

class ShapeNamer {
 public:
  explicit ShapeNamer(const Function& function) {
    for (const Variable& param : function.params) params_.insert(param.get());
    visit(function.body, [&](const Expr& expr) {
      const auto* call = as<CallNode>(expr);
      if (const auto* var = call ? as<VarNode>(call->callee) : nullptr) called_.insert(var);
    });
  }

  Expr run(const Expr& body) {
    Expr mapped = map_bodies(body, [&](const Expr& one) { return inner(one); });
    if (mapped) return mapped;
    const auto* seq = as<SeqNode>(body);
    if (!seq) return substitute(body, known_.entries());
    std::vector<Block> blocks;
    for (const Block& block : seq->blocks) {
      Block result{.dataflow = block.dataflow, .bindings = {}};
      const size_t learned_before = known_.changes();
      for (const Binding& binding : block.bindings) bind(binding, result.bindings);
      add_block(std::move(result), learned_before, blocks);
    }
    return make_seq(std::move(blocks), substitute(seq->result, known_.entries()));
  }

  // Whether a binding's annotation became more precise.
  bool learned() const { return learned_; }

 private:
  // Facts learned inside are dropped at the end.
  Expr inner(const Expr& body) {
    const size_t outside = known_.changes();
    Expr result = run(body);
    known_.undo(outside);
    return result;
  }

  // A dataflow block with an if is split around it, and the block's variables become visible to all
  // parts. `learned_before`: the changes before it.
  void add_block(Block block, size_t learned_before, std::vector<Block>& blocks) {
    bool cut = false;
    for (const Binding& binding : block.bindings) cut |= as<IfNode>(binding.value) != nullptr;
    if (!block.dataflow || !cut) {
      blocks.push_back(std::move(block));
      return;
    }
    ExprMap plain;
    for (Binding& binding : block.bindings) {
      binding.value = substitute(binding.value, plain);
      if (binding.var->dataflow) {
        Variable var = make_variable(binding.var->name, binding.var->annotation);
        plain[binding.var.get()] = var;
        replaced_.push_back(std::move(binding.var));
        binding.var = var;
      }
      const bool dataflow = as<IfNode>(binding.value) == nullptr;
      if (blocks.empty() || &binding == block.bindings.data() ||
          blocks.back().dataflow != dataflow) {
        blocks.push_back({.dataflow = dataflow, .bindings = {}});
      }
      blocks.back().bindings.push_back(binding);
    }
    for (size_t i = learned_before, end = known_.changes(); i < end; ++i) {
      const VarNode* var = known_.changed(i);
      known_.set(var, substitute(*known_.find(var), plain));
    }
    for (const auto& [var, value] : plain) known_.set(var, value);
  }

  void bind(Binding binding, std::vector<Binding>& into) {
    binding.value = run(binding.value);
    const auto* call = as<CallNode>(binding.value);
    if (binding.match_cast || as<IfNode>(binding.value) || as<FunctionNode>(binding.value)) {
      into.push_back(std::move(binding));
    } else if (!call) {
      take(binding, annotation_of(binding.value));
      into.push_back(std::move(binding));
    } else if (const op::OperatorInfo* info = op::called_operator_info(binding.value);
               info || is_call_tir(binding.value)) {
      binding.value = with_shapes(*call, info, binding, into);
      if (info) {
        compute(std::move(binding), *info, 0, into);
      } else {
        into.push_back(std::move(binding));
      }
    } else {
      into.push_back(std::move(binding));
    }
  }

  // The binding's variable with the annotation found, if that is more precise.
  void take(Binding& binding, const Annotation& found) {
    if (!is_finer(found, binding.var->annotation)) return;
    // The callee stays open: calling a value that is no function is a run-time error.
    if (called_.contains(binding.var.get())) return;
    Variable var = make_variable(binding.var->name, found, binding.var->dataflow);
    known_.set(binding.var.get(), var);
    replaced_.push_back(std::move(binding.var));
    binding.var = var;
    learned_ = true;
  }

  // `info`: null for tensor programs.
  Expr with_shapes(const CallNode& call, const op::OperatorInfo* info, const Binding& binding,
                   std::vector<Binding>& into) {
    std::vector<Expr> args;
    for (const Expr& arg : call.args) {
      const op::ArgumentSpec* spec =
          info && args.size() < info->args.size() ? &info->args[args.size()] : nullptr;
      if (const auto* tuple = as<TupleNode>(arg)) {
        std::vector<Expr> fields;
        for (const Expr& field : tuple->fields) {
          fields.push_back(named(field, nullptr, binding, into));
        }
        args.push_back(make_tuple(std::move(fields)));
      } else {
        args.push_back(named(arg, spec, binding, into));
      }
    }
    return make_call(call.callee, std::move(args), call.attrs, call.annotations);
  }

  // An operand, cast if its dimensions or its value have no names; `spec`: the operator's
  // declaration of it, null if there is none.
  Expr named(const Expr& arg, const op::ArgumentSpec* spec, const Binding& binding,
             std::vector<Binding>& into) {
    const auto* var = as<VarNode>(arg);
    if (!var) return arg;
    if (const Expr* known = known_.find(var)) return *known;
    const Annotation annotation = with_names(*var, spec ? std::optional(spec->kind) : std::nullopt);
    if (!annotation) return arg;
    Variable known = make_variable(var->name + "_known", annotation);
    CheckNote note{(params_.contains(var) ? "parameter " : "binding ") + var->name, "", ""};
    // Only the operator requires it to be a host integer.
    if (spec && var->annotation->kind == AnnotationKind::kObject) {
      note = operand_note(spec->name, called_operator(binding.value), binding);
    }
    into.push_back({known, arg, annotation, binding.origin, note});
    known_.set(var, known);
    return known;
  }

  // Appends the call of an operator whose operands have shapes.
  void compute(Binding binding, const op::OperatorInfo& info, int decisions,
               std::vector<Binding>& into) {
    const auto& call = *as<CallNode>(binding.value);
    Annotation found = op::deduce(call);
    std::vector<op::BroadcastPair> pairs;
    if (is_open(found) && !info.decompose) pairs = op::open_broadcasts(call);
    if (pairs.empty() || decisions == kMostDecisions) {
      take(binding, found);
      into.push_back(std::move(binding));
      return;
    }
    const op::BroadcastPair& pair = pairs.front();
    auto node = std::make_shared<IfNode>();
    node->condition = make_prim_value(eq(pair.a, pair.b));
    node->then_branch = way(binding, info, pair, pair.second, pair.a, decisions);
    auto rest = std::make_shared<IfNode>();
    rest->condition = make_prim_value(eq(pair.b, 1));
    rest->then_branch = way(binding, info, pair, pair.second, 1, decisions);
    rest->else_branch = way(binding, info, pair, pair.first, 1, decisions);
    Variable other = make_variable(binding.var->name + "_broadcast", binding.var->annotation);
    Block block;
    block.bindings.push_back({other, rest, nullptr, binding.origin, written_note(binding)});
    node->else_branch = make_seq({block}, other);
    binding.value = node;
    into.push_back(std::move(binding));
  }

  // A branch: argument `index` cast so that its dimension of the pair is `dim`.
  Expr way(const Binding& binding, const op::OperatorInfo& info, const op::BroadcastPair& pair,
           size_t index, const PrimExpr& dim, int decisions) {
    const auto& call = *as<CallNode>(binding.value);
    const PrimExpr &old = index == pair.first ? pair.a : pair.b,
                   &other = index == pair.first ? pair.b : pair.a;
    const Annotation own = annotation_of(call.args[index]);
    Block block;
    std::vector<Expr> args = call.args;
    std::string name = index < info.args.size() ? info.args[index].name : "argument";
    auto cast_to = [&](const PrimExpr& extent) {
      args[index] =
          check_shape(args[index], op::respelled(own, old, extent), name + "_of_" + info.name,
                      operand_note(name, info.name, binding), false, block.bindings);
    };
    // The last branch is for dimensions that may not broadcast: the message must name both.
    if (index == pair.first) cast_to(arith::broadcast_dim(old, other));
    cast_to(dim);
    Binding inner{make_variable(binding.var->name, binding.var->annotation),
                  make_call(call.callee, std::move(args), call.attrs, call.annotations), nullptr,
                  binding.origin, binding.check};
    const VarNode* asked = inner.var.get();
    Expr var = inner.var;
    compute(std::move(inner), info, decisions + 1, block.bindings);
    if (const Expr* known = known_.find(asked)) var = *known;
    for (Binding& check : block.bindings) check.origin = binding.origin;
    return make_seq({block}, var);
  }

  bool learned_ = false;
  std::set<const VarNode*> params_;
  std::set<const VarNode*> called_;  // as functions
  UndoMap<const VarNode*, Expr> known_;
  std::vector<Variable>
      replaced_;  // keeps the keys of known_ alive, so that no other variable gets their address
};

}  // namespace

Module name_shapes(const Module& module) {
  Module result = module;
  bool learned = false;
  for (const auto& [name, source] : graph_functions(module)) {
    ShapeNamer namer(*source);
    result.functions[name] = with_body(*source, namer.run(source->body));
    learned |= namer.learned();
  }
  // An Object may turn out to be another tensor than the program declares.
  if (learned) {
    const std::string known = "the shapes that are known now";
    refuse_contradictions(result, known);
    refuse_call_contradictions(result, known);
  }
  return result;
}

}  // namespace tapml::passes
