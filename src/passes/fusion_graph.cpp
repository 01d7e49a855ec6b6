#include "passes/fusion_graph.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/evaluate.h"
#include "op/operator.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone
using analysis::FusionTraits;

namespace {

constexpr std::array<int64_t, 3> kSampleValues = {1, 64, 1024};

// A copy at another index, for any shape: it needs index arithmetic.
const FusionTraits& view_traits() {
  static const FusionTraits kTraits = {.kind = analysis::PatternKind::kInjective,
                                       .inputs = {{.own = false, .remote_target = 1, .loads = 1}},
                                       .operations = 0,
                                       .costly = false,
                                       .nodes = 10,
                                       .points = 1};
  return kTraits;
}

// Post-dominators that are further away are ignored: groups are smaller.
constexpr int kFarAway = 256;

double value_at(const PrimExpr& expr, int64_t symbol) {
  if (expr.is_int()) return static_cast<double>(expr->int_value);
  if (expr.is_var()) return static_cast<double>(symbol);
  arith::Values values;
  for (const Var& var : free_vars(expr)) values[var.get()] = symbol;
  return static_cast<double>(arith::evaluate(expr, values).value_or(symbol));
}

Samples sampled(const PrimExpr& expr) {
  Samples result;
  for (size_t s = 0; s < result.size(); ++s) result[s] = value_at(expr, kSampleValues[s]);
  return result;
}

// Number of elements of a tensor of known shape.
Samples elements_of(const TensorAnnotation& tensor) {
  Samples result = {1, 1, 1};
  for (const PrimExpr& dim : *tensor.shape) {
    Samples extent = sampled(dim);
    for (size_t s = 0; s < result.size(); ++s) result[s] *= extent[s];
  }
  return result;
}

Samples times(Samples values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

// Whether a kernel is a single operator whose result is not to be stored in memory.
bool is_expansion(const Function& spec) {
  const SeqNode& body = body_of(spec);
  if (body.blocks.size() != 1) return false;
  const auto& bindings = body.blocks[0].bindings;
  const op::OperatorInfo* info = op::called_operator_info(bindings.front().value);
  return bindings.size() == 1 && info && info->expands;
}

const TensorAnnotation* fully_known(const Annotation& annotation) {
  const auto* tensor = as_tensor(annotation);
  return tensor && tensor->shape && tensor->dtype ? tensor : nullptr;
}

PrimExpr element_count(const TensorAnnotation& tensor) {
  PrimExpr count = 1;
  for (const PrimExpr& dim : *tensor.shape) count = count * dim;
  return count;
}

}  // namespace

FusionGraph::FusionGraph(const Module& module, const Block& block, TraitsOfKernels& traits)
    : module_(module), block_(block), traits_(traits), nodes_(block.bindings.size()) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Binding& binding = block.bindings[i];
    FusionNode& node = nodes_[i];
    const std::string& op = called_operator(binding.value);
    node.updates = op == "call_tir_inplace";
    node.escapes = !binding.var->dataflow;
    if (!binding.match_cast && op == "call_tir") add_kernel_call(node, binding);
    if (!binding.match_cast && is_view(op)) add_view(node, binding);
    relax::visit(binding.value, [&](const Expr& e) {
      if (e->kind != relax::ExprKind::kVar) return;
      auto producer = producers_.find(static_cast<const VarNode*>(e.get()));
      if (producer == producers_.end()) return;
      std::vector<size_t>& readers = nodes_[producer->second].consumers;
      if (readers.empty() || readers.back() != i) readers.push_back(i);
    });
    producers_[binding.var.get()] = i;
  }
  find_post_dominators();
}

void FusionGraph::add_kernel_call(FusionNode& node, const Binding& binding) {
  const auto& call = *as<CallNode>(binding.value);
  const std::string& kernel = call_tir_callee(call);
  const auto* made = fully_known(binding.var->annotation);
  if (call.annotations.size() != 1 || !made || !is_kernel(module_.find(kernel))) return;
  auto [known, is_new] = traits_.try_emplace(kernel);
  if (is_new) {
    const tir::PrimFunc& loops = kernel_implementation(module_, kernel);
    // A kernel that the annotation calls opaque stays opaque, whatever its loops are.
    if (!loops.facts.pattern_kind.empty() && loops.facts.pattern_kind != "Opaque") {
      known->second = analysis::fusion_traits(loops);
    }
  }
  const FusionTraits& traits = known->second;
  if (traits.kind == analysis::PatternKind::kOpaque) return;
  if (!add_inputs(node, call_tir_args(call)) || traits.inputs.size() != node.inputs.size()) return;
  node.traits = &traits;
  node.expands = is_expansion(kernel_spec(module_, kernel));
  node.elements = elements_of(*made);
  node.bytes = times(node.elements, static_cast<double>(dtype_bytes(*made->dtype)));
  node.points = node.reduces() ? sampled(traits.points) : node.elements;
}

void FusionGraph::add_view(FusionNode& node, const Binding& binding) {
  const auto& call = *as<CallNode>(binding.value);
  const auto* made = fully_known(binding.var->annotation);
  const auto* source = fully_known(annotation_of(call.args[0]));
  if (!made || !source || !as<VarNode>(call.args[0])) return;
  arith::Analyzer analyzer;
  if (!analyzer.prove_equal(element_count(*made), element_count(*source))) return;
  if (!add_inputs(node, {call.args[0]})) return;
  node.view = true;
  node.traits = &view_traits();
  node.elements = elements_of(*made);
  node.bytes = times(node.elements, static_cast<double>(dtype_bytes(*made->dtype)));
  node.points = node.elements;
}

bool FusionGraph::add_inputs(FusionNode& node, const std::vector<Expr>& tensors) {
  for (const Expr& tensor : tensors) {
    const auto* var = as<VarNode>(tensor);
    const bool constant = tensor->kind == relax::ExprKind::kConstant;
    const Annotation annotation = annotation_of(tensor);
    const auto* known = var || constant ? fully_known(annotation) : nullptr;
    if (!known) {
      node.inputs.clear();
      return false;
    }
    auto producer = var ? producers_.find(var) : producers_.end();
    node.inputs.push_back({producer == producers_.end() ? kNoNode : producer->second, var,
                           times(elements_of(*known), dtype_bytes(*known->dtype))});
  }
  return true;
}

// Walks backward, so that all readers of a node are done before it: its immediate post-dominator is
// where their chains of post-dominators meet, found by walking up from the deeper one. This is the
// intersection of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001); without
// cycles one round is enough. Fusion along post-dominators comes from TVM.
void FusionGraph::find_post_dominators() {
  for (size_t i = nodes_.size(); i-- > 0;) {
    FusionNode& node = nodes_[i];
    if (node.escapes || node.consumers.empty()) continue;
    size_t meet = node.consumers.front();
    for (size_t c = 1; c < node.consumers.size() && meet != kNoNode; ++c) {
      meet = common_post_dominator(meet, node.consumers[c]);
    }
    node.post_dominator = meet;
    if (meet != kNoNode) node.depth = nodes_[meet].depth + 1;
  }
}

size_t FusionGraph::common_post_dominator(size_t a, size_t b) const {
  for (int steps = 0; a != b; ++steps) {
    if (a == kNoNode || b == kNoNode || steps == kFarAway) return kNoNode;
    size_t& deeper = nodes_[a].depth >= nodes_[b].depth ? a : b;
    deeper = nodes_[deeper].post_dominator;
  }
  return a;
}

bool FusionGraph::same_shape(size_t a, size_t b) const {
  const auto& x = *as_tensor(block_.bindings[a].var->annotation)->shape;
  const auto& y = *as_tensor(block_.bindings[b].var->annotation)->shape;
  if (x.size() != y.size()) return false;
  arith::Analyzer analyzer;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!same_expr(x[i], y[i]) && !analyzer.prove_equal(x[i], y[i])) return false;
  }
  return true;
}

}  // namespace tapml::passes
