#include "schedule/primitives/region.h"

#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone
using arith::Analyzer;

namespace {

std::optional<Bounds> product_bounds(const Bounds& a, const PrimExpr& factor, Analyzer& analyzer) {
  if (analyzer.prove_less_equal(0, factor)) return Bounds{a.low * factor, a.high * factor};
  if (analyzer.prove_less_equal(factor, 0)) return Bounds{a.high * factor, a.low * factor};
  return std::nullopt;
}

bool is_fixed(const PrimExpr& e, const Extents& inner) {
  bool fixed = true;
  visit_expr(e, [&](const PrimExpr& part) {
    fixed &= part.kind() != tapml::ExprKind::kLoad && !inner.contains(part.get());
  });
  return fixed;
}

std::optional<Bounds> walk(const PrimExpr& e, const Extents& inner, Analyzer& analyzer) {
  if (!is_integer(e.dtype())) return std::nullopt;
  if (is_fixed(e, inner)) return Bounds{e, e};
  if (e.is_var()) {
    auto extent = bounds_over(inner.at(e.get()), inner, analyzer);
    if (!extent) return std::nullopt;
    return Bounds{0, extent->high - 1};
  }
  if (e->operands.size() < 2) return std::nullopt;
  const PrimExpr &x = e.operand(0), &y = e.operand(1);
  if (e.kind() == tapml::ExprKind::kSelect) {
    auto a = walk(y, inner, analyzer), b = walk(e.operand(2), inner, analyzer);
    if (!a || !b) return std::nullopt;
    return Bounds{min(a->low, b->low), max(a->high, b->high)};
  }
  if (!is_binary(e.kind()) || is_comparison(e.kind())) return std::nullopt;
  auto a = walk(x, inner, analyzer), b = walk(y, inner, analyzer);
  if (!a || !b) return std::nullopt;
  switch (e.kind()) {
    case tapml::ExprKind::kAdd:
      return Bounds{a->low + b->low, a->high + b->high};
    case tapml::ExprKind::kSub:
      return Bounds{a->low - b->high, a->high - b->low};
    case tapml::ExprKind::kMul:
      if (is_fixed(y, inner)) return product_bounds(*a, y, analyzer);
      if (is_fixed(x, inner)) return product_bounds(*b, x, analyzer);
      return std::nullopt;
    case tapml::ExprKind::kMin:
      return Bounds{min(a->low, b->low), min(a->high, b->high)};
    case tapml::ExprKind::kMax:
      return Bounds{max(a->low, b->low), max(a->high, b->high)};
    case tapml::ExprKind::kFloorDiv:
      if (!is_fixed(y, inner) || !analyzer.prove_less(0, y)) return std::nullopt;
      return Bounds{floordiv(a->low, y), floordiv(a->high, y)};
    case tapml::ExprKind::kFloorMod: {
      if (!is_fixed(y, inner) || !analyzer.prove_less(0, y)) return std::nullopt;
      PrimExpr low = analyzer.simplify(floordiv(a->low, y));
      if (analyzer.prove_equal(low, floordiv(a->high, y))) {
        return Bounds{a->low - low * y, a->high - low * y};
      }
      return Bounds{0, y - 1};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Bounds> bounds_over(const PrimExpr& expr, const Extents& inner, Analyzer& analyzer) {
  auto bounds = walk(analyzer.simplify(expr), inner, analyzer);
  if (!bounds) return std::nullopt;
  return Bounds{analyzer.simplify(bounds->low), analyzer.simplify(bounds->high)};
}

std::vector<Access> accesses(const Site& leaf, Extents& inner) {
  std::vector<Access> result;
  VarMap bindings;
  if (leaf.is_block()) {
    for (const BlockIter& iter : leaf.block().iters) bindings[iter.var.get()] = iter.binding;
  }
  auto add = [&](const Buffer& buffer, const std::vector<PrimExpr>& indices, bool store) {
    Access access{buffer, {}, store};
    for (const PrimExpr& index : indices) {
      access.indices.push_back(tapml::substitute(index, bindings));
    }
    result.push_back(std::move(access));
  };
  auto scan_expr = [&](const PrimExpr& root) {
    if (!root) return;
    visit_expr(root, [&](const PrimExpr& e) {
      if (e.kind() == tapml::ExprKind::kLoad) add(load_buffer(e), e->operands, false);
    });
  };
  auto scan = [&](const Stmt& root) {
    std::set<const BufferNode*> own;
    visit(
        root,
        [&](const Stmt& s) {
          if (s->kind == StmtKind::kFor) {
            inner[as<ForNode>(s).var.get()] = tapml::substitute(as<ForNode>(s).extent, bindings);
          }
          if (s->kind == StmtKind::kAlloc) own.insert(as<AllocNode>(s).buffer.get());
        },
        scan_expr);
    visit(root, [&](const Stmt& s) {
      if (s->kind == StmtKind::kStore) add(as<StoreNode>(s).buffer, as<StoreNode>(s).indices, true);
    });
    std::erase_if(result, [&](const Access& a) { return own.contains(a.buffer.get()); });
  };
  if (!leaf.is_block()) {
    scan(leaf.stmt());
    return result;
  }
  const BlockNode& block = leaf.block();
  for (const BlockIter& iter : block.iters) scan_expr(iter.binding);
  scan_expr(block.predicate);
  if (block.init) scan(block.init);
  scan(block.body);
  return result;
}

Box box_of(const Access& access, const Extents& inner, Analyzer& analyzer) {
  Box box;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    auto bounds = bounds_over(access.indices[d], inner, analyzer);
    box.begins.push_back(bounds ? bounds->low : PrimExpr(0));
    box.extents.push_back(bounds ? analyzer.simplify(bounds->high - bounds->low + 1)
                                 : access.buffer->shape[d]);
  }
  return box;
}

Box hull(const Box& a, const Box& b, Analyzer& analyzer) {
  Box box;
  for (size_t d = 0; d < a.begins.size(); ++d) {
    PrimExpr a_end = a.begins[d] + a.extents[d], b_end = b.begins[d] + b.extents[d];
    PrimExpr begin = analyzer.simplify(min(a.begins[d], b.begins[d]));
    box.begins.push_back(begin);
    box.extents.push_back(analyzer.simplify(max(a_end, b_end) - begin));
  }
  return box;
}

bool contains(const Box& b, const Box& a, const Buffer& buffer, Analyzer& analyzer) {
  for (size_t d = 0; d < a.begins.size(); ++d) {
    PrimExpr begin = max(a.begins[d], 0);
    PrimExpr end = min(a.begins[d] + a.extents[d], buffer->shape[d]);
    if (!analyzer.prove_less_equal(b.begins[d], a.begins[d]) &&
        !analyzer.prove_less_equal(b.begins[d], begin)) {
      return false;
    }
    PrimExpr b_end = b.begins[d] + b.extents[d];
    if (!analyzer.prove_less_equal(a.begins[d] + a.extents[d], b_end) &&
        !analyzer.prove_less_equal(end, b_end)) {
      return false;
    }
  }
  return true;
}

}  // namespace tapml::schedule
