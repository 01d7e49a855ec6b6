#include "schedule/primitives/site.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ir/exceptions.h"
#include "tir/scalar_ranges.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Calls `found` with the path to every statement, in pre-order; block bodies are not entered.
void walk(std::vector<Stmt>& path, const Stmt& stmt,
          const std::function<void(const std::vector<Stmt>&)>& found) {
  if (!stmt) return;
  path.push_back(stmt);
  found(path);
  switch (stmt->kind) {
    case StmtKind::kFor:
      walk(path, as<ForNode>(stmt).body, found);
      break;
    case StmtKind::kSeq:
      for (const Stmt& part : as<SeqNode>(stmt).stmts) walk(path, part, found);
      break;
    case StmtKind::kIf:
      walk(path, as<IfNode>(stmt).then_body, found);
      walk(path, as<IfNode>(stmt).else_body, found);
      break;
    case StmtKind::kAlloc:
      walk(path, as<AllocNode>(stmt).body, found);
      break;
    default:
      break;
  }
  path.pop_back();
}

std::optional<Site> find(const PrimFunc& func, const std::function<bool(const Stmt&)>& matches) {
  std::optional<Site> result;
  std::vector<Stmt> path;
  walk(path, func.body, [&](const std::vector<Stmt>& at) {
    if (!result && matches(at.back())) result = Site{at};
  });
  return result;
}

bool is_leaf(const Stmt& stmt) {
  return stmt->kind == StmtKind::kBlock || stmt->kind == StmtKind::kStore ||
         stmt->kind == StmtKind::kBarrier;
}

}  // namespace

std::vector<Stmt> Site::loops() const {
  std::vector<Stmt> result;
  for (const Stmt& stmt : path) {
    if (stmt->kind == StmtKind::kFor) result.push_back(stmt);
  }
  return result;
}

std::vector<Stmt> Site::loops_from(const Var& loop) const {
  std::vector<Stmt> all = loops();
  auto begin = std::find_if(all.begin(), all.end(),
                            [&](const Stmt& s) { return as<ForNode>(s).var.same_as(loop); });
  return {begin, all.end()};
}

bool Site::is_inside(const Stmt& outer) const {
  return std::find(path.begin(), path.end(), outer) != path.end();
}

std::string Site::describe() const {
  switch (stmt()->kind) {
    case StmtKind::kBlock:
      return "block " + block().name;
    case StmtKind::kStore:
      if (joins_threads(stmt())) return "a subgroup operation";
      return "a store to " + as<StoreNode>(stmt()).buffer->name + " outside blocks";
    case StmtKind::kFor:
      return "loop " + loop().var->name;
    default:
      return "a barrier";
  }
}

Site find_block(const PrimFunc& func, const std::string& name) {
  auto site = find(func, [&](const Stmt& s) {
    return s->kind == StmtKind::kBlock && as<BlockNode>(s).name == name;
  });
  if (!site) throw_internal("the program has no block " + name);
  return *site;
}

Site find_loop(const PrimFunc& func, const Var& var) {
  auto site = find(func, [&](const Stmt& s) {
    return s->kind == StmtKind::kFor && as<ForNode>(s).var.same_as(var);
  });
  if (!site) throw_internal("the program has no loop " + var->name);
  return *site;
}

Site find_alloc(const PrimFunc& func, const BufferNode* buffer) {
  auto site = find(func, [&](const Stmt& s) {
    return s->kind == StmtKind::kAlloc && as<AllocNode>(s).buffer.get() == buffer;
  });
  return site ? *site : Site{};
}

std::vector<Site> leaves(const PrimFunc& func, const Stmt& root) {
  std::vector<Site> result;
  std::vector<Stmt> path;
  walk(path, func.body, [&](const std::vector<Stmt>& at) {
    if (!is_leaf(at.back())) return;
    Site site{at};
    if (!root || site.is_inside(root)) result.push_back(std::move(site));
  });
  return result;
}

const Stmt& nest_of(const Site& site) {
  for (const Stmt& stmt : site.path) {
    if (stmt->kind == StmtKind::kFor || stmt->kind == StmtKind::kIf || is_leaf(stmt)) return stmt;
  }
  return site.stmt();
}

std::vector<Site> leaves_between(const PrimFunc& func, const Site& first, const Site& last) {
  std::vector<Site> result;
  const Stmt& begin = nest_of(first);
  const Stmt& end = nest_of(last);
  bool inside = false, ended = false;
  for (Site& leaf : leaves(func)) {
    const Stmt& nest = nest_of(leaf);
    inside |= nest == begin;
    if (ended && nest != end) break;
    ended |= nest == end;
    if (inside) result.push_back(std::move(leaf));
  }
  return result;
}

bool is_before(const PrimFunc& func, const Stmt& a, const Stmt& b) {
  std::vector<Stmt> path;
  int64_t position = 0, at_a = -1, at_b = -1;
  walk(path, func.body, [&](const std::vector<Stmt>& at) {
    if (at.back() == a) at_a = position;
    if (at.back() == b) at_b = position;
    ++position;
  });
  return at_a < at_b;
}

Stmt replace(const Stmt& root, const Stmt& statement, const Stmt& with) {
  bool done = false;
  Stmt result = rewrite(root, {}, [&](const Stmt& s) -> Stmt {
    if (s != statement) return nullptr;
    done = true;
    return with;
  });
  if (!done) throw_internal("the statement to replace is not in the program");
  return result;
}

namespace {

bool is_empty(const Stmt& s) {
  return !s || (s->kind == StmtKind::kSeq && as<SeqNode>(s).stmts.empty());
}

}  // namespace

Stmt prune(const Stmt& stmt) {
  Stmt nothing = make_seq({});
  return rewrite(stmt, {}, [&](const Stmt& s) -> Stmt {
    switch (s->kind) {
      case StmtKind::kFor:
        return is_empty(as<ForNode>(s).body) ? nothing : nullptr;
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        if (is_empty(node.then_body) && is_empty(node.else_body)) return nothing;
        return nullptr;
      }
      case StmtKind::kAlloc: {
        const auto& node = as<AllocNode>(s);
        const BufferNode* buffer = node.buffer.get();
        bool used = loaded_buffers(node.body).contains(buffer) ||
                    stored_buffers(node.body).contains(buffer);
        return used ? nullptr : node.body;
      }
      default:
        return nullptr;
    }
  });
}

PrimFuncRef with_body(const PrimFunc& func, Stmt body) {
  auto result = std::make_shared<PrimFunc>(func);
  result->body = std::move(body);
  return result;
}

Stmt add_workspace(const Buffer& buffer, const Stmt& body) {
  // Insert inside the existing allocations, so that they keep their order.
  if (body->kind == StmtKind::kAlloc && as<AllocNode>(body).buffer->scope == Scope::kGlobal) {
    const auto& node = as<AllocNode>(body);
    return make_alloc(node.buffer, add_workspace(buffer, node.body));
  }
  return make_alloc(buffer, body);
}

Stmt make_block(BlockNode block) {
  infer_regions(block);
  return std::make_shared<BlockNode>(std::move(block));
}

arith::Analyzer context(const PrimFunc& func, const std::vector<Stmt>& loops) {
  arith::Analyzer analyzer;
  bind_scalars(func, analyzer);
  for (const Stmt& stmt : loops) {
    const auto& loop = as<ForNode>(stmt);
    analyzer.assume(lt(make_int(0, loop.extent.dtype()), loop.extent));
    analyzer.bind_range(loop.var, loop.extent);
  }
  return analyzer;
}

arith::Analyzer context(const PrimFunc& func, const Site& site) {
  return context(func, site.loops());
}

int64_t most_steps(const PrimExpr& extent, arith::Analyzer& analyzer) {
  constexpr int64_t kEndless = int64_t{1} << 62;
  if (extent.is_int()) return std::max<int64_t>(extent->int_value, 1);
  const int64_t limit = std::min(arith::dtype_range(extent.dtype()).hi, kEndless);
  return std::clamp<int64_t>(analyzer.upper_bound(extent).value_or(limit), 1, limit);
}

std::string fresh_block_name(const PrimFunc& func, const std::string& base) {
  std::set<std::string> taken;
  for (const Site& leaf : leaves(func)) {
    if (leaf.is_block()) taken.insert(leaf.block().name);
  }
  std::string name = base;
  for (int i = 1; taken.contains(name); ++i) name = base + "_" + std::to_string(i);
  return name;
}

PrimExpr refresh_lets(const PrimExpr& expr) {
  VarMap fresh;
  visit_expr(expr, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLet) return;
    fresh[e.operand(0).get()] = make_var(e.operand(0)->name, e.operand(0).dtype());
  });
  return fresh.empty() ? expr : tapml::substitute(expr, fresh);
}

void refuse(const std::string& primitive, const std::string& subject, const std::string& reason,
            const std::string& hint) {
  throw_user(primitive + " of " + subject + ": " + reason, "", "", "", hint);
}

}  // namespace tapml::schedule
