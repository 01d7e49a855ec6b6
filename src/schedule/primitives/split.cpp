// split: see primitives.h.
#include "ir/queries.h"
#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Whether points beyond the extent may be visited if blocks do nothing there: their bindings and
// the loops' extents are still evaluated.
bool predicates_suffice(const PrimFunc& func, const Stmt& loop) {
  for (const Site& leaf : leaves(func, loop)) {
    if (!leaf.is_block()) return false;
    for (const BlockIter& iter : leaf.block().iters) {
      if (has_load(iter.binding)) return false;
    }
    if (leaf.block().predicate && has_load(leaf.block().predicate)) return false;
  }
  bool plain = true;
  visit(loop, [&](const Stmt& s) {
    if (s->kind == StmtKind::kFor && has_load(as<ForNode>(s).extent)) plain = false;
    if (s->kind == StmtKind::kIf) plain = false;
  });
  return plain;
}

}  // namespace

Split split(const PrimFunc& func, const Var& var,
            const std::vector<std::optional<int64_t>>& factors) {
  Site site = find_loop(func, var);
  const ForNode& loop = site.loop();
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("split", "loop " + var->name, reason, hint);
  };
  if (loop.for_kind != ForKind::kSerial) {
    no(std::string("it is ") + for_kind_name(loop.for_kind), "split it before it is marked");
  }
  if (factors.size() < 2) no("it needs two factors or more", "give one for each new loop");
  arith::Analyzer analyzer = context(func, site);
  int64_t known = 1;
  int inferred = 0;
  for (const auto& factor : factors) {
    if (!factor) {
      ++inferred;
    } else if (*factor < 1 || __builtin_mul_overflow(known, *factor, &known)) {
      no("the factor " + std::to_string(*factor) + " is out of range",
         "give factors of 1 or more whose product is an index");
    }
  }
  if (inferred > 1) no("more than one factor is absent", "give all but one");
  DType dtype = loop.var.dtype();
  // The extent rounded up to whole factors must still fit the index type.
  const int64_t largest = arith::dtype_range(dtype).hi;
  const int64_t most = inferred ? largest - (most_steps(loop.extent, analyzer) - 1) : largest;
  if (known > most) {
    no("the factors' product " + std::to_string(known) + " makes indices of " + dtype_name(dtype) +
           " overflow: the extent " + to_string(loop.extent) + " is rounded up to a multiple of it",
       most > 1 ? "give factors whose product is at most " + std::to_string(most)
                : "split a loop of a known extent");
  }
  PrimExpr size = make_int(known, dtype);
  PrimExpr rest = analyzer.simplify(floordiv(loop.extent + (known - 1), size));
  bool exact = inferred ? analyzer.prove_equal(rest * size, loop.extent)
                        : analyzer.prove_equal(size, loop.extent);
  if (!inferred && !analyzer.prove_less_equal(loop.extent, size)) {
    no("the factors' product " + std::to_string(known) + " does not provably reach its extent " +
           to_string(loop.extent),
       "leave one factor out");
  }
  Split result;
  std::vector<PrimExpr> extents;
  PrimExpr value;
  for (size_t i = 0; i < factors.size(); ++i) {
    extents.push_back(factors[i] ? make_int(*factors[i], dtype) : rest);
    result.loops.push_back(make_var(var->name + "_" + std::to_string(i), dtype));
    value = value ? value * extents[i] + result.loops[i] : PrimExpr(result.loops[i]);
  }
  VarMap values = {{var.get(), value}};
  PrimExpr inside = lt(value, loop.extent);
  bool in_blocks = exact || predicates_suffice(func, site.stmt());
  Stmt body = substitute(loop.body, values);
  if (!exact && in_blocks) {
    body = rewrite(body, {}, [&](const Stmt& s) -> Stmt {
      if (s->kind != StmtKind::kBlock) return nullptr;
      auto block = std::make_shared<BlockNode>(as<BlockNode>(s));
      block->predicate = block->predicate ? logical_and(inside, block->predicate) : inside;
      return block;
    });
  } else if (!exact) {
    for (const Site& leaf : leaves(func, site.stmt())) {
      if (!joins_threads(leaf.stmt())) continue;
      no(leaf.describe() + " inside would be under a condition",
         "use factors that divide the extent");
    }
    body = make_if(inside, body);
  }
  for (size_t i = factors.size(); i-- > 0;) body = make_for(result.loops[i], extents[i], body);
  result.func = with_body(func, replace(func.body, site.stmt(), body));
  return result;
}

}  // namespace tapml::schedule::primitives
