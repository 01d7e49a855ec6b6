#include "codegen/lower/name_coordinates.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Whether an index is computed only from the launch's item and from dimensions.
bool is_coordinate(const PrimExpr& index, const DeviceFunc& launch) {
  if (index.is_var()) return false;
  bool reads = false;
  visit_expr(index, [&](const PrimExpr& e) {
    reads |= e.kind() == ExprKind::kLoad || e.kind() == ExprKind::kCall;
  });
  if (reads) return false;
  bool of_item = false;
  for (const Var& var : free_vars(index)) {
    if (var.same_as(launch.item)) {
      of_item = true;
    } else if (std::ranges::none_of(launch.scalars,
                                    [&](const Var& scalar) { return scalar.same_as(var); })) {
      return false;
    }
  }
  return of_item;
}

// "i_192"; further dimensions of the same size get "j_192", ...
std::string name_of(const PrimExpr& dim, std::set<std::string>& taken) {
  const std::string size = dim.is_var()   ? dim->name
                           : dim.is_int() ? std::to_string(dim->int_value)
                                          : "part";
  for (const char* letter : {"i", "j", "k", "l", "m"}) {
    std::string name = std::string(letter) + "_" + size;
    if (taken.insert(name).second) return name;
  }
  return "i_" + size;
}

// Replaces outer expressions first, since one coordinate may be part of another.
PrimExpr with_names(const PrimExpr& e, const std::vector<std::pair<Var, PrimExpr>>& coordinates) {
  for (const auto& [name, value] : coordinates) {
    if (same_expr(e, value)) return name;
  }
  std::vector<PrimExpr> operands;
  bool changed = false;
  for (const PrimExpr& operand : e->operands) {
    operands.push_back(with_names(operand, coordinates));
    changed |= !operands.back().same_as(operand);
  }
  if (!changed) return e;
  auto node = std::make_shared<ExprNode>(*e);
  node->operands = std::move(operands);
  return PrimExpr(std::move(node));
}

// Block iterators are named after their loop with a prefix v: "vr", "vi0".
bool is_iterator_name(const std::string& name) {
  auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return name.size() >= 2 && name[0] == 'v' && std::islower(static_cast<unsigned char>(name[1])) &&
         std::all_of(name.begin() + 2, name.end(), is_digit);
}

Stmt with_loop_names(const Stmt& body) {
  VarMap names;
  visit(body, [&](const Stmt& s) {
    if (s->kind != StmtKind::kFor) return;
    const Var& var = as<ForNode>(s).var;
    if (is_iterator_name(var->name)) names[var.get()] = make_var(var->name.substr(1), var.dtype());
  });
  if (names.empty()) return body;
  return substitute(rewrite(body, {},
                            [&](const Stmt& s) -> Stmt {
                              if (s->kind != StmtKind::kFor) return nullptr;
                              const auto found = names.find(as<ForNode>(s).var.get());
                              if (found == names.end()) return nullptr;
                              auto loop = std::make_shared<ForNode>(as<ForNode>(s));
                              loop->var = Var(found->second);
                              return loop;
                            }),
                    names);
}

void drop_unused_scalars(DeviceFunc& launch) {
  std::vector<Var> used;
  for (const auto& [name, value] : launch.coordinates) collect_vars(value, used);
  visit(
      launch.body,
      [&](const Stmt& s) {
        if (s->kind != StmtKind::kStore) return;
        const auto& store = as<StoreNode>(s);
        collect_vars(linear_index(store.buffer, store.indices), used);
      },
      [&](const PrimExpr& root) {
        collect_vars(root, used);
        visit_expr(root, [&](const PrimExpr& e) {
          if (e.kind() != ExprKind::kLoad) return;
          collect_vars(linear_index(load_buffer(e), e->operands), used);
        });
      });
  for (size_t i = launch.scalars.size(); i-- > 0;) {
    const bool needed =
        std::ranges::any_of(used, [&](const Var& var) { return var.same_as(launch.scalars[i]); });
    if (needed) continue;
    const auto at = static_cast<ptrdiff_t>(i);
    launch.scalars.erase(launch.scalars.begin() + at);
    launch.scalar_indices.erase(launch.scalar_indices.begin() + at);
    launch.least.erase(launch.least.begin() + at);
  }
}

}  // namespace

void name_coordinates(DeviceFunc& launch) {
  std::set<std::string> taken;
  visit(launch.body, [&](const Stmt& s) {
    if (s->kind != StmtKind::kStore) return;
    const auto& store = as<StoreNode>(s);
    if (store.buffer->scope != Scope::kGlobal) return;
    for (size_t i = 0; i < store.indices.size(); ++i) {
      const PrimExpr& index = store.indices[i];
      const bool known = std::ranges::any_of(
          launch.coordinates, [&](const auto& other) { return same_expr(other.second, index); });
      if (known || !is_coordinate(index, launch)) continue;
      launch.coordinates.emplace_back(
          make_var(name_of(store.buffer->shape[i], taken), index.dtype()), index);
    }
  });
  launch.body = with_loop_names(
      rewrite(launch.body, [&](const PrimExpr& e) { return with_names(e, launch.coordinates); }));
  drop_unused_scalars(launch);
}

}  // namespace tapml::codegen
