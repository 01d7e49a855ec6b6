#include "passes/memory/plan_function.h"

#include <algorithm>

#include "passes/kernel.h"
#include "relax/check_location.h"
#include "relax/memory.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

FunctionPlanner::FunctionPlanner(const Module& module, const Function& function,
                                 const Bounds& bounds, const PlanMemoryOptions& options,
                                 const analysis::Keeps& keeps)
    : function_(function),
      options_(options),
      live_(analysis::find_liveness(function, keeps)),
      needs_(module, function, bounds, live_, options.in_place && options.reuse) {}

void FunctionPlanner::decide(bool may_be_static) {
  std::vector<MemoryItem>& items = needs_.items();
  Sizes& sizes = needs_.sizes();
  if (fixed_sizes()) {
    for (MemoryItem& item : items) {
      item.size = sizes.add(*sizes.most(item.size));
      item.known = 0;
    }
    static_ = may_be_static && !items.empty();
  }
  for (MemoryItem& item : items) {
    // An escaping item is never static, so nothing shares its storage where all others are static.
    item.alone |= !options_.reuse || (static_ && item.escapes);
  }
  storages_ = assign_storages(
      items, sizes, {.offsets = options_.offsets, .most_bytes = options_.most_storage_bytes});
  place_of_.resize(items.size());
  for (size_t s = 0; s < storages_.size(); ++s) {
    for (const PlacedItem& one : storages_[s].items) {
      place_of_[static_cast<size_t>(one.item)] = {s, one.offset};
    }
  }
  number_static_storages();
}

bool FunctionPlanner::fixed_sizes() {
  const std::vector<MemoryItem>& items = needs_.items();
  return std::all_of(items.begin(), items.end(), [&](const MemoryItem& item) {
    return needs_.sizes().most(item.size).has_value();
  });
}

// The largest first, so that functions that share them need the least in total.
void FunctionPlanner::number_static_storages() {
  static_index_.assign(storages_.size(), -1);
  if (!static_) return;
  std::vector<size_t> order;
  for (size_t s = 0; s < storages_.size(); ++s) {
    if (!storages_[s].escapes) order.push_back(s);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return needs_.sizes().typical(storages_[a].size) > needs_.sizes().typical(storages_[b].size);
  });
  for (size_t s : order) static_index_[s] = static_cast<int64_t>(static_count_++);
}

// ---- rewriting the body

FunctionRef FunctionPlanner::rewrite(size_t first_static) {
  first_static_ = first_static;
  storage_vars_.resize(storages_.size());
  position_ = 0;
  auto result = std::make_shared<Function>(function_);
  result->body = rewrite_seq(body_of(function_), true);
  for (const auto& [name, bound] : needs_.bounds_used()) {
    result->facts.bounds[name] = bound;
  }
  return result;
}

// Bindings of dataflow blocks are now in plain ones: memory has effects.
Expr FunctionPlanner::rewrite_seq(const SeqNode& seq, bool top) {
  std::vector<Block> blocks;
  for (const Block& block : seq.blocks) {
    Block outer = std::move(out_);
    out_ = Block{.dataflow = false, .bindings = {}};
    for (const Binding& binding : block.bindings) rewrite_binding(binding, top);
    std::swap(outer, out_);
    if (!outer.bindings.empty()) blocks.push_back(std::move(outer));
  }
  Expr result = as<SeqNode>(seq.result) ? rewrite_seq(*as<SeqNode>(seq.result), false)
                                        : substitute(seq.result, plain_);
  return make_seq(std::move(blocks), std::move(result));
}

Expr FunctionPlanner::rewrite_value(const Expr& value) {
  if (const auto* seq = as<SeqNode>(value)) return rewrite_seq(*seq, false);
  if (const auto* branch = as<IfNode>(value)) {
    auto node = std::make_shared<IfNode>();
    node->condition = substitute(branch->condition, plain_);
    node->then_branch = rewrite_value(branch->then_branch);
    node->else_branch = rewrite_value(branch->else_branch);
    return node;
  }
  return substitute(value, plain_);
}

void FunctionPlanner::rewrite_binding(const Binding& source, bool top) {
  if (top) allocate_storages(position_, source);
  Binding binding = source;
  bool kernel = is_call_tir(source.value) && !source.match_cast;
  binding.value = rewrite_value(source.value);
  // A storage whose size is known only at this point.
  if (!top) allocate_storages(position_, source);
  ++position_;
  if (source.var->dataflow) {
    binding.var = make_variable(source.var->name, source.var->annotation);
    plain_[source.var.get()] = binding.var;
  }
  if (!kernel) {
    out_.bindings.push_back(std::move(binding));
    return;
  }
  rewrite_call(binding, source.var.get());
}

// Storages are ordered by position. Messages name `binding`, the first that needs them.
void FunctionPlanner::allocate_storages(int64_t place, const Binding& binding) {
  for (; next_storage_ < storages_.size() && storages_[next_storage_].place <= place;
       ++next_storage_) {
    AttrMap attrs;
    if (static_index_[next_storage_] >= 0) {
      attrs[kStaticAttr] = static_cast<int64_t>(first_static_) + static_index_[next_storage_];
    }
    Variable var = make_variable("st" + std::to_string(next_storage_), object_annotation());
    emit(var,
         make_op_call("memory.alloc_storage",
                      {make_shape({needs_.sizes().bytes(storages_[next_storage_].size)})},
                      std::move(attrs)),
         {}, binding);
    storage_vars_[next_storage_] = var;
  }
}

// A part of the replacement of `binding`, noted unless its own name tells.
void FunctionPlanner::emit(Variable var, Expr value, const Origin& origin, const Binding& binding) {
  Binding part{std::move(var), std::move(value), nullptr, origin, {}};
  if (planned_name(part) != written_name(binding) || !binding.check.function.empty()) {
    part.check = written_note(binding);
  }
  out_.bindings.push_back(std::move(part));
}

void FunctionPlanner::emit_tensor(Variable var, int32_t item, const Dims& dims, DType dtype,
                                  const Binding& binding) {
  const Place& place = place_of_[static_cast<size_t>(item)];
  std::vector<Expr> args = {storage_vars_[place.storage], make_shape(dims)};
  const PrimExpr& offset = needs_.sizes().bytes(place.offset);
  if (!offset.is_int(0)) args.push_back(make_prim_value(offset));
  emit(std::move(var), make_op_call("memory.alloc_tensor", std::move(args), {{"dtype", dtype}}), {},
       binding);
}

// The storage, or bytes in it where the workspace has an offset.
Expr FunctionPlanner::workspace(int32_t item, const Binding& binding) {
  const Place& place = place_of_[static_cast<size_t>(item)];
  if (needs_.sizes().bytes(place.offset).is_int(0)) return storage_vars_[place.storage];
  const PrimExpr& bytes = needs_.sizes().bytes(needs_.items()[static_cast<size_t>(item)].size);
  Variable var =
      make_variable(binding.var->name + "_workspace", tensor_annotation(Dims{bytes}, DType::kU8));
  emit_tensor(var, item, {bytes}, DType::kU8, binding);
  return var;
}

void FunctionPlanner::rewrite_call(const Binding& binding, const VarNode* owner) {
  const auto& call = *as<CallNode>(binding.value);
  const std::vector<Expr>& args = call_tir_args(call);
  const auto* inout = find_attr<std::vector<int64_t>>(call.attrs, kInoutAttr);
  std::vector<Expr> outputs, results;
  bool single = call.annotations.size() == 1;
  auto ids = live_.outputs.find(owner);
  size_t next = 0;
  for (size_t j = 0; j < call.annotations.size(); ++j) {
    int64_t source = inout && j < inout->size() ? (*inout)[j] : -1;
    if (source >= 0) {
      results.push_back(args.at(static_cast<size_t>(source)));
      continue;
    }
    const auto& tensor = known_tensor(call.annotations[j]);
    Variable var =
        single ? binding.var
               : make_variable(binding.var->name + "_" + std::to_string(j), call.annotations[j]);
    emit_tensor(var, needs_.of_allocation(ids->second[next++]), *tensor.shape, *tensor.dtype,
                binding);
    outputs.push_back(var);
    results.push_back(var);
  }
  std::vector<Expr> dps = {call.args[0], make_tuple(args), make_tuple(outputs)};
  int32_t scratch = needs_.of_workspace(owner);
  if (!call_tir_symbols(call).empty() || scratch >= 0) {
    dps.push_back(make_shape(call_tir_symbols(call)));
  }
  if (scratch >= 0) dps.push_back(workspace(scratch, binding));
  emit(make_variable("done", object_annotation()), make_op_call("call_tir_dps", std::move(dps)),
       binding.origin, binding);
  if (!single) {
    emit(binding.var, make_tuple(results), {}, binding);
  } else if (outputs.empty()) {
    emit(binding.var, results[0], {}, binding);
  }
}

}  // namespace tapml::passes
