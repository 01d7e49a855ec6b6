// Faults of memory: missing initialization, overlapping buffers, missing waits.
#include <algorithm>
#include <cmath>
#include <map>

#include "tir/queries.h"
#include "tir/visit.h"
#include "topdown/faults/variants/sites.h"

namespace tapml::topdown::variants {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

bool same_type(const Buffer& a, const Buffer& b) {
  if (a->dtype != b->dtype || a->shape.size() != b->shape.size()) return false;
  for (size_t d = 0; d < a->shape.size(); ++d) {
    if (!same_expr(a->shape[d], b->shape[d])) return false;
  }
  return true;
}

// to[...] = from[...], as a separate launch.
Stmt copy_all(const Buffer& from, const Buffer& to) {
  std::vector<PrimExpr> indices;
  for (size_t d = 0; d < to->shape.size(); ++d) {
    indices.push_back(make_var("c" + std::to_string(d), DType::kI64));
  }
  Stmt body = make_store(to, indices, load(from, indices));
  for (size_t d = to->shape.size(); d-- > 0;) {
    body = make_for(indices[d], to->shape[d], body, d == 0 ? ForKind::kParallel : ForKind::kSerial);
  }
  return body;
}

// Inserted after the workspaces that enclose the launches.
Stmt with_first_launch(const Stmt& body, const Stmt& first) {
  if (body->kind == StmtKind::kAlloc && as<AllocNode>(body).buffer->scope == Scope::kGlobal) {
    const auto& alloc = as<AllocNode>(body);
    return make_alloc(alloc.buffer, with_first_launch(alloc.body, first));
  }
  return make_seq({first, body});
}

// Places `inner` in the memory of `outer`, which has one dimension, repeated as often as it fits.
Stmt laid_over(const Stmt& body, const Buffer& inner, const Buffer& outer) {
  auto place = [&](const std::vector<PrimExpr>& indices) -> std::vector<PrimExpr> {
    PrimExpr linear = 0;
    for (size_t d = 0; d < indices.size(); ++d) linear = linear * inner->shape[d] + indices[d];
    return {floormod(linear, outer->shape[0])};
  };
  return rewrite(
      body,
      [&](const PrimExpr& root) {
        return rewrite_expr(root, [&](const PrimExpr& e) {
          const bool own = is_load_of(e, inner);
          return own ? load(outer, place(e->operands)) : PrimExpr();
        });
      },
      [&](const Stmt& s) -> Stmt {
        if (s->kind == StmtKind::kAlloc && as<AllocNode>(s).buffer == inner) {
          return as<AllocNode>(s).body;
        }
        if (s->kind != StmtKind::kStore || as<StoreNode>(s).buffer != inner) return nullptr;
        return make_store(outer, place(as<StoreNode>(s).indices), as<StoreNode>(s).value);
      });
}

// The iterations that repeat each store: loops, or the iterators of its block and the loops in
// that. For a store that occurs several times, only those around all occurrences.
class Iterations {
 public:
  explicit Iterations(const Stmt& body) { note(body, {}); }
  const std::vector<Var>& of(const Stmt& store) const { return around_.at(store.get()); }

 private:
  static std::vector<Var> with(std::vector<Var> vars, const Var& var) {
    vars.push_back(var);
    return vars;
  }
  void note(const Stmt& stmt, const std::vector<Var>& vars) {
    if (!stmt) return;
    switch (stmt->kind) {
      case StmtKind::kFor:
        note(as<ForNode>(stmt).body, with(vars, as<ForNode>(stmt).var));
        break;
      case StmtKind::kSeq:
        for (const Stmt& s : as<SeqNode>(stmt).stmts) note(s, vars);
        break;
      case StmtKind::kIf:
        note(as<IfNode>(stmt).then_body, vars);
        note(as<IfNode>(stmt).else_body, vars);
        break;
      case StmtKind::kAlloc:
        note(as<AllocNode>(stmt).body, vars);
        break;
      case StmtKind::kBlock: {
        std::vector<Var> own;
        for (const BlockIter& iter : as<BlockNode>(stmt).iters) own.push_back(iter.var);
        note(as<BlockNode>(stmt).init, own);
        note(as<BlockNode>(stmt).body, own);
        break;
      }
      case StmtKind::kStore: {
        const auto [place, first] = around_.emplace(stmt.get(), vars);
        if (first) break;
        std::erase_if(place->second, [&](const Var& var) {
          return std::ranges::none_of(vars, [&](const Var& one) { return one.same_as(var); });
        });
        break;
      }
      case StmtKind::kBarrier:
      case StmtKind::kMatrix:
      case StmtKind::kCopyAsync:
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        break;
    }
  }

  std::map<const StmtNode*, std::vector<Var>> around_;
};

// A number between a quarter of `scale` and 7/4 of it that differs between neighbors in each of
// `positions`.
PrimExpr garbage(const std::vector<PrimExpr>& positions, double scale, DType dtype) {
  constexpr int64_t kLevels = 7;
  PrimExpr sum = 2;
  int64_t weight = 0;
  for (const PrimExpr& position : positions) {
    weight = weight % (kLevels - 1) + 1;
    sum = sum + cast(DType::kI64, position) * weight;
  }
  const PrimExpr level = cast(DType::kF32, floormod(sum, kLevels) + 1);
  return cast(dtype, level * make_float(scale / 4, DType::kF32));
}

}  // namespace

// The start value of an accumulator becomes register garbage, different for each element, since a
// constant added to all scores of a softmax changes nothing.
Variants missing_init(const PrimFunc& func) {
  const Iterations iterations(func.body);
  return each_stmt(func, [&](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kStore) return nullptr;
    const auto& store = as<StoreNode>(s);
    if (store.buffer->scope != Scope::kLocal || !is_float(store.buffer->dtype) ||
        has_load(store.value)) {
      return nullptr;
    }
    // A start value near 1 would hardly affect a maximum.
    const bool extreme =
        store.value.kind() == ExprKind::kFloat && std::isinf(store.value->float_value);
    std::vector<PrimExpr> positions = iterations.of(s);
    positions.insert(positions.end(), store.indices.begin(), store.indices.end());
    return make_store(store.buffer, store.indices,
                      garbage(positions, extreme ? 1e4 : 1, store.buffer->dtype));
  });
}

// An output shares its memory with an input that is still read.
Variants aliasing_output(const PrimFunc& func) {
  Variants variants;
  for (const Param& output : func.params) {
    if (output.mode != AccessMode::kOut || output.buffer->shape.empty()) continue;
    for (const Param& input : func.params) {
      if (input.mode != AccessMode::kIn || !same_type(input.buffer, output.buffer)) continue;
      auto result = std::make_shared<PrimFunc>(func);
      const Stmt shared = rewrite(func.body, [&](const PrimExpr& root) {
        return rewrite_expr(root, [&](const PrimExpr& e) {
          const bool own = is_load_of(e, input.buffer);
          return own ? load(output.buffer, e->operands) : PrimExpr();
        });
      });
      if (shared == func.body) continue;
      result->body = with_first_launch(shared, copy_all(input.buffer, output.buffer));
      variants.push_back(std::move(result));
    }
  }
  return variants;
}

Variants missing_barrier(const PrimFunc& func) {
  return each_stmt(func, [](const Stmt& s) -> Stmt {
    return s->kind == StmtKind::kBarrier ? make_seq({}) : nullptr;
  });
}

// Two buffers of a work group, or of an invocation, overlap.
Variants shared_overlap(const PrimFunc& func) {
  std::vector<std::pair<Buffer, Buffer>> pairs;  // a buffer, and another inside its scope
  visit(func.body, [&](const Stmt& s) {
    if (s->kind != StmtKind::kAlloc) return;
    const Buffer& outer = as<AllocNode>(s).buffer;
    if (outer->scope == Scope::kGlobal || outer->shape.size() != 1) return;
    visit(as<AllocNode>(s).body, [&](const Stmt& other) {
      if (other->kind != StmtKind::kAlloc) return;
      const Buffer& inner = as<AllocNode>(other).buffer;
      if (inner->scope == outer->scope && inner->dtype == outer->dtype) {
        pairs.emplace_back(outer, inner);
      }
    });
  });
  Variants variants;
  for (const auto& [outer, inner] : pairs) {
    auto result = std::make_shared<PrimFunc>(func);
    result->body = laid_over(func.body, inner, outer);
    variants.push_back(std::move(result));
  }
  return variants;
}

}  // namespace tapml::topdown::variants
