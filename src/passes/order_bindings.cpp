#include "passes/order_bindings.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/alias_sets.h"
#include "passes/graph_functions.h"
#include "passes/memory/items.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// The most ready bindings that are considered, so that wide blocks take linear time.
constexpr size_t kMostChoices = 64;

// One block's bindings, by number in its order.
class BlockOrder {
 public:
  BlockOrder(const Block& block, const analysis::AliasSets& aliases, const Bounds& values)
      : block_(block), aliases_(aliases), values_(values), sizes_(var_bounds_) {
    const size_t count = block.bindings.size();
    successors_.resize(count);
    predecessors_.resize(count);
    holds_.resize(count);
    own_bytes_.resize(count);
    call_bytes_.resize(count);
    users_.resize(count);
    for (size_t i = 0; i < count; ++i) add(i);
    keep_updates_in_order();
  }

  // The order that holds the least: the block's own, or one of two greedy ones.
  std::vector<size_t> decide() const {
    std::vector<size_t> best(block_.bindings.size());
    std::iota(best.begin(), best.end(), size_t{0});
    for (std::vector<size_t> order : {from_the_front(), from_the_back()}) {
      if (most_held(order) < most_held(best)) best = std::move(order);
    }
    return best;
  }

 private:
  void add(size_t i) {
    const Binding& binding = block_.bindings[i];
    std::set<const VarNode*> used;
    visit(binding.value, [&](const Expr& expr) {
      if (const auto* var = as<VarNode>(expr)) used.insert(var);
    });
    std::set<size_t> before;
    for (const VarNode* var : used) {
      auto made = number_of_.find(var);
      if (made != number_of_.end()) before.insert(made->second);
    }
    // Bindings after a check rely on it, and may name the symbols that it defines.
    if (last_check_) before.insert(*last_check_);
    for (size_t one : before) precede(one, i);
    if (binding.match_cast) last_check_ = i;
    number_of_[binding.var.get()] = i;
    measure(i, used);
  }

  // The memory that the binding allocates, and the memory that its value and operands keep alive.
  void measure(size_t i, const std::set<const VarNode*>& used) {
    const Binding& binding = block_.bindings[i];
    std::set<size_t> owners;
    for (const VarNode* var : used) {
      auto made = number_of_.find(var);
      if (made == number_of_.end()) continue;
      owners.insert(holds_[made->second].begin(), holds_[made->second].end());
    }
    for (size_t owner : owners) ++users_[owner];
    used_owners_.emplace_back(owners.begin(), owners.end());
    if (is_call_tir(binding.value) && called_operator(binding.value) == "call_tir") {
      const auto& call = *as<CallNode>(binding.value);
      for (const Annotation& output : call.annotations) own_bytes_[i] += bytes_of(output);
      if (PrimExpr workspace = workspace_bytes(call)) call_bytes_[i] = typical(workspace);
      holds_[i] = {i};
    } else {
      // Views, projections, casts, updates in place, calls: the result may alias any operand.
      holds_[i] = used_owners_[i];
    }
    // Code after the block may read it.
    if (!binding.var->dataflow) {
      for (size_t owner : holds_[i]) ++users_[owner];
    }
  }

  double bytes_of(const Annotation& annotation) {
    const TensorAnnotation* tensor = as_tensor(annotation);
    if (!tensor || !tensor->shape || !tensor->dtype) return 0;
    return typical(storage_bytes(*tensor->shape, *tensor->dtype));
  }

  double typical(const PrimExpr& bytes) {
    for (const Var& var : free_vars(bytes)) {
      auto value = values_.find(var->name);
      if (value != values_.end()) var_bounds_.emplace(var.get(), value->second);
    }
    const int32_t size = sizes_.add(bytes);
    const std::optional<int64_t> most = sizes_.most(size);
    return most ? static_cast<double>(*most) : sizes_.typical(size);
  }

  // Reads of storage that an update in place may change stay before or after it.
  void keep_updates_in_order() {
    for (size_t i = 0; i < block_.bindings.size(); ++i) {
      const Expr& value = block_.bindings[i].value;
      if (called_operator(value) != "call_tir_inplace") continue;
      const std::vector<const VarNode*> written = operands(value);
      for (size_t j = 0; j < block_.bindings.size(); ++j) {
        if (i == j) continue;
        const size_t first = std::min(i, j), second = std::max(i, j);
        const std::vector<size_t>& after = successors_[first];
        if (std::find(after.begin(), after.end(), second) != after.end()) continue;
        if (any_alias(written, operands(block_.bindings[j].value))) precede(first, second);
      }
    }
  }

  static std::vector<const VarNode*> operands(const Expr& value) {
    std::vector<const VarNode*> vars;
    visit(value, [&](const Expr& expr) {
      if (const auto* var = as<VarNode>(expr)) vars.push_back(var);
    });
    return vars;
  }

  bool any_alias(const std::vector<const VarNode*>& written,
                 const std::vector<const VarNode*>& read) const {
    return std::any_of(written.begin(), written.end(), [&](const VarNode* a) {
      return std::any_of(read.begin(), read.end(),
                         [&](const VarNode* b) { return aliases_.may_alias(a, b); });
    });
  }

  void precede(size_t first, size_t second) {
    successors_[first].push_back(second);
    predecessors_[second].push_back(first);
  }

  // Front to back: always picks the ready binding after which the least is held.
  std::vector<size_t> from_the_front() const {
    std::vector<size_t> waits_for, users_left = users_, order;
    for (const std::vector<size_t>& before : predecessors_) waits_for.push_back(before.size());
    std::set<size_t> ready;
    for (size_t i = 0; i < waits_for.size(); ++i) {
      if (waits_for[i] == 0) ready.insert(i);
    }
    while (!ready.empty()) {
      const size_t next = least(ready.begin(), ready.end(), [&](size_t i) {
        double bytes = users_left[i] == 0 ? 0 : own_bytes_[i];
        for (size_t owner : used_owners_[i]) {
          if (users_left[owner] == 1) bytes -= own_bytes_[owner];
        }
        return bytes;
      });
      ready.erase(next);
      order.push_back(next);
      for (size_t owner : used_owners_[next]) --users_left[owner];
      for (size_t successor : successors_[next]) {
        if (--waits_for[successor] == 0) ready.insert(successor);
      }
    }
    return order;
  }

  // Back to front: always picks the possible last binding before which the least is held.
  std::vector<size_t> from_the_back() const {
    std::vector<size_t> waits_for, order;
    for (const std::vector<size_t>& after : successors_) waits_for.push_back(after.size());
    std::set<size_t> ready, held;
    for (size_t i = 0; i < waits_for.size(); ++i) {
      if (waits_for[i] == 0) ready.insert(i);
    }
    while (!ready.empty()) {
      const size_t last = least(ready.rbegin(), ready.rend(), [&](size_t i) {
        double bytes = -own_bytes_[i];
        for (size_t owner : used_owners_[i]) {
          if (!held.contains(owner)) bytes += own_bytes_[owner];
        }
        return bytes;
      });
      ready.erase(last);
      order.push_back(last);
      held.insert(used_owners_[last].begin(), used_owners_[last].end());
      for (size_t predecessor : predecessors_[last]) {
        if (--waits_for[predecessor] == 0) ready.insert(predecessor);
      }
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  template <class Iterator, class Cost>
  static size_t least(Iterator from, const Iterator& to, const Cost& cost) {
    size_t best = *from, looked_at = 0;
    double lowest = cost(best);
    for (; from != to && looked_at < kMostChoices; ++from, ++looked_at) {
      const double own = cost(*from);
      if (own >= lowest) continue;
      lowest = own;
      best = *from;
    }
    return best;
  }

  double most_held(const std::vector<size_t>& order) const {
    std::vector<size_t> users_left = users_;
    double held = 0, most = 0;
    for (size_t i : order) {
      held += own_bytes_[i];
      most = std::max(most, held + call_bytes_[i]);
      if (users_left[i] == 0) held -= own_bytes_[i];
      for (size_t owner : used_owners_[i]) {
        if (--users_left[owner] == 0) held -= own_bytes_[owner];
      }
    }
    return most;
  }

  const Block& block_;
  const analysis::AliasSets& aliases_;
  const Bounds& values_;
  VarBounds var_bounds_;
  Sizes sizes_;
  std::map<const VarNode*, size_t> number_of_;
  std::optional<size_t> last_check_;
  std::vector<std::vector<size_t>> successors_, predecessors_;
  std::vector<std::vector<size_t>> holds_;  // owners of the memory that a value keeps alive
  std::vector<std::vector<size_t>>
      used_owners_;                             // owners of the memory that the operands keep alive
  std::vector<double> own_bytes_, call_bytes_;  // allocated for the result, for the call alone
  std::vector<size_t> users_;                   // of the memory that a binding owns
};

}  // namespace

Module order_bindings(const Module& module) { return order_bindings_with(module, {}); }

Module order_bindings_with(const Module& module, const Bounds& values) {
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    const analysis::AliasSets aliases = analysis::alias_sets(*source, &module);
    result.functions[name] = with_body(*source, map_blocks(source->body, [&](const Block& block) {
      if (!block.dataflow) return block;
      Block ordered = block;
      ordered.bindings.clear();
      for (size_t i : BlockOrder(block, aliases, values).decide()) {
        ordered.bindings.push_back(block.bindings[i]);
      }
      return ordered;
    }));
  }
  return result;
}

}  // namespace tapml::passes
