#include "analysis/fusion_traits.h"

#include <algorithm>

#include "analysis/computation.h"
#include "arith/analyzer.h"
#include "ir/intrinsics.h"
#include "tir/visit.h"

namespace tapml::analysis {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr double kDivision = 8, kMath = 16;  // in plain operations
constexpr int kMathNodes = 25;               // of the polynomial that a function becomes

struct Weights {
  double operations = 0;
  bool costly = false;
  int nodes = 0;
};

void weigh(const PrimExpr& value, Weights& w) {
  visit_expr(value, [&](const PrimExpr& e) {
    ++w.nodes;
    switch (e.kind()) {
      case tapml::ExprKind::kDiv:
        w.operations += kDivision;
        w.costly = true;
        break;
      case tapml::ExprKind::kCall: {
        const IntrinsicInfo* info = find_intrinsic(e->name);
        const bool root = e->name == "sqrt" || e->name == "rsqrt";
        w.costly |= (info && info->needs_math) || root;
        w.operations += info && info->needs_math ? kMath : root ? kDivision : 1;
        if (info && info->needs_math) w.nodes += kMathNodes;
        break;
      }
      case tapml::ExprKind::kAdd:
      case tapml::ExprKind::kSub:
      case tapml::ExprKind::kMul:
      case tapml::ExprKind::kMin:
      case tapml::ExprKind::kMax:
        w.operations += is_float(e.dtype()) ? 1 : 0;
        break;
      default:
        break;
    }
  });
}

bool same_indices(const PrimExpr& a, const PrimExpr& b) {
  if (a->operands.size() != b->operands.size()) return false;
  for (size_t i = 0; i < a->operands.size(); ++i) {
    if (!same_expr(a.operand(i), b.operand(i))) return false;
  }
  return true;
}

bool at_own_index(const Computation& c, const PrimExpr& load) {
  const BufferNode& source = *load_buffer(load);
  if (c.reduces() || source.shape.size() != c.out->shape.size()) return false;
  arith::Analyzer analyzer;
  for (size_t i = 0; i < source.shape.size(); ++i) {
    if (!same_expr(source.shape[i], c.out->shape[i]) &&
        !analyzer.prove_equal(source.shape[i], c.out->shape[i])) {
      return false;
    }
    if (!source.shape[i].is_int(1) && !same_expr(load.operand(i), c.indices[i])) return false;
  }
  return true;
}

// Collects the extents of the loops or blocks around every store, by iterator.
void collect_extents(const Stmt& stmt, VarMap& extents) {
  switch (stmt->kind) {
    case StmtKind::kFor:
      extents[as<ForNode>(stmt).var.get()] = as<ForNode>(stmt).extent;
      return collect_extents(as<ForNode>(stmt).body, extents);
    case StmtKind::kSeq:
      for (const Stmt& inner : as<SeqNode>(stmt).stmts) collect_extents(inner, extents);
      return;
    case StmtKind::kAlloc:
      return collect_extents(as<AllocNode>(stmt).body, extents);
    case StmtKind::kBlock:
      for (const BlockIter& iter : as<BlockNode>(stmt).iters) {
        extents[iter.var.get()] = iter.extent;
      }
      return collect_extents(as<BlockNode>(stmt).body, extents);
    default:
      return;
  }
}

}  // namespace

FusionTraits fusion_traits(const PrimFunc& func) {
  FusionTraits traits;
  traits.kind = pattern_kind(func);
  if (traits.kind == PatternKind::kOpaque) return traits;
  auto computations = find_computations(func);
  std::vector<const BufferNode*> inputs;
  for (const Param& param : func.params) {
    if (param.mode == AccessMode::kIn) inputs.push_back(param.buffer.get());
  }
  std::vector<std::vector<PrimExpr>> loads(inputs.size());
  traits.inputs.resize(inputs.size());
  VarMap extents;
  collect_extents(func.body, extents);
  Weights weights;
  traits.points = 0;
  for (const Computation& c : *computations) {
    weigh(c.value, weights);
    // The stores before and after a reduction take fewer evaluations than its steps.
    if (traits.points.is_int(0) || c.reduces()) {
      traits.points = 1;
      for (const auto* iters : {&c.spatial, &c.reduction}) {
        for (const Var& iter : *iters) {
          traits.points = traits.points * tapml::substitute(extents.at(iter.get()), extents);
        }
      }
    }
    visit_expr(c.value, [&](const PrimExpr& e) {
      if (e.kind() != tapml::ExprKind::kLoad) return;
      auto input = std::find(inputs.begin(), inputs.end(), load_buffer(e).get());
      if (input == inputs.end()) return;
      const auto i = static_cast<size_t>(input - inputs.begin());
      ++traits.inputs[i].loads;
      for (const PrimExpr& known : loads[i]) {
        if (same_indices(known, e)) return;
      }
      loads[i].push_back(e);
      if (at_own_index(c, e)) {
        traits.inputs[i].own = true;
      } else {
        ++traits.inputs[i].remote_target;
      }
    });
  }
  // Several stores in one program stay together.
  traits.costly = weights.costly || computations->size() > 1;
  traits.operations = weights.operations;
  traits.nodes = weights.nodes;
  return traits;
}

}  // namespace tapml::analysis
