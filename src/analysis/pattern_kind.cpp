#include "analysis/pattern_kind.h"

#include <algorithm>
#include <set>

#include "analysis/computation.h"
#include "arith/analyzer.h"
#include "ir/queries.h"

namespace tapml::analysis {

namespace {

using tir::Buffer;
using tir::BufferNode;

// Whether it reads at the store's own index a tensor of the same shape; in a dimension of extent 1
// all indices are the same.
bool reads_own_index(const Computation& c, const PrimExpr& load, arith::Analyzer& analyzer) {
  const tir::BufferNode& source = *tir::load_buffer(load);
  if (source.shape.size() != c.out->shape.size()) return false;
  for (size_t i = 0; i < source.shape.size(); ++i) {
    if (!analyzer.prove_equal(source.shape[i], c.out->shape[i])) return false;
    if (!source.shape[i].is_int(1) && !same_expr(load->operands[i], c.indices[i])) return false;
  }
  return true;
}

// Classifies one read relative to the store.
PatternKind read_kind(const Computation& c, const PrimExpr& load) {
  arith::Analyzer analyzer;
  if (reads_own_index(c, load, analyzer)) return PatternKind::kElementWise;
  const tir::BufferNode& source = *tir::load_buffer(load);
  size_t next = 0;  // number of the output's dimensions matched so far
  for (size_t i = 0; i < load->operands.size(); ++i) {
    const PrimExpr& index = load->operands[i];
    if (index.is_int(0) && source.shape[i].is_int(1)) continue;
    while (next < c.indices.size() && !same_expr(c.indices[next], index)) ++next;
    if (next == c.indices.size()) return PatternKind::kInjective;
    // Reading the beginning of a longer dimension is a slice.
    if (!analyzer.prove_equal(source.shape[i], c.out->shape[next])) return PatternKind::kInjective;
    ++next;
  }
  return PatternKind::kBroadcast;
}

std::vector<PrimExpr> loads_of(const PrimExpr& value) {
  std::vector<PrimExpr> loads;
  visit_expr(value, [&](const PrimExpr& e) {
    if (e.kind() == ExprKind::kLoad) loads.push_back(e);
  });
  return loads;
}

const PrimExpr& without_casts(const PrimExpr& e) {
  return e.kind() == ExprKind::kCast ? without_casts(e.operand(0)) : e;
}

// Whether the value is acc + a*b where one factor does not use an iterator of the output: the
// elements of that factor are reused for every value of the iterator.
bool multiplies_with_reuse(const Computation& c) {
  const PrimExpr& value = without_casts(c.value);
  PrimExpr a, b;
  if (value.kind() == ExprKind::kCall && value->name == "fma") {
    if (!c.is_self_load(without_casts(value.operand(2)))) return false;
    a = value.operand(0);
    b = value.operand(1);
  } else if (value.kind() == ExprKind::kAdd) {
    bool first = c.is_self_load(without_casts(value.operand(0)));
    bool second = c.is_self_load(without_casts(value.operand(1)));
    if (first == second) return false;
    const PrimExpr& product = without_casts(value.operand(first ? 1 : 0));
    if (product.kind() != ExprKind::kMul) return false;
    a = product.operand(0);
    b = product.operand(1);
  } else {
    return false;
  }
  if (loads_of(a).empty() || loads_of(b).empty()) return false;
  return std::any_of(c.spatial.begin(), c.spatial.end(),
                     [&](const Var& iter) { return uses(a, iter) != uses(b, iter); });
}

PatternKind kind_of(const Computation& c) {
  if (c.reduces()) {
    return multiplies_with_reuse(c) ? PatternKind::kOutEWiseFusable : PatternKind::kCommReduce;
  }
  PatternKind kind = PatternKind::kElementWise;
  for (const PrimExpr& load : loads_of(c.value)) kind = std::max(kind, read_kind(c, load));
  return kind;
}

// Whether every result of the reduction is read at the store's own index, and everything else at
// most along its dimensions.
bool is_epilogue(const Computation& c, const std::set<const BufferNode*>& reduced) {
  for (const PrimExpr& load : loads_of(c.value)) {
    PatternKind most = reduced.contains(tir::load_buffer(load).get()) ? PatternKind::kElementWise
                                                                      : PatternKind::kBroadcast;
    if (read_kind(c, load) > most) return false;
  }
  return true;
}

}  // namespace

const char* pattern_kind_name(PatternKind kind) {
  switch (kind) {
    case PatternKind::kElementWise:
      return "ElementWise";
    case PatternKind::kBroadcast:
      return "Broadcast";
    case PatternKind::kInjective:
      return "Injective";
    case PatternKind::kCommReduce:
      return "CommReduce";
    case PatternKind::kOutEWiseFusable:
      return "OutEWiseFusable";
    case PatternKind::kOpaque:
      return "Opaque";
  }
  return "Opaque";
}

PatternKind pattern_kind(const tir::PrimFunc& func) {
  int outputs = 0;
  for (const tir::Param& param : func.params) {
    if (param.mode == AccessMode::kInOut) return PatternKind::kOpaque;
    outputs += param.mode == AccessMode::kOut ? 1 : 0;
  }
  auto computations = find_computations(func);
  if (outputs != 1 || !computations || computations->empty()) return PatternKind::kOpaque;
  PatternKind kind = PatternKind::kElementWise;
  std::set<const BufferNode*> reduced;
  for (const Computation& c : *computations) {
    if (reduced.empty()) {
      kind = std::max(kind, kind_of(c));
      if (c.reduces()) {
        kind = kind_of(c);
        reduced.insert(c.out.get());
      }
      continue;
    }
    if (c.reduces() || !is_epilogue(c, reduced)) return PatternKind::kOpaque;
    reduced.insert(c.out.get());
  }
  return kind;
}

}  // namespace tapml::analysis
