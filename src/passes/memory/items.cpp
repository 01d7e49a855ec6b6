#include "passes/memory/items.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/memory/in_place.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

template <class F>
void visit_parts(const Expr& value, F&& f) {
  if (const auto* seq = as<SeqNode>(value)) f(*seq);
  if (const auto* branch = as<IfNode>(value)) {
    visit_parts(branch->then_branch, f);
    visit_parts(branch->else_branch, f);
  }
}

}  // namespace

PrimExpr workspace_bytes(const CallNode& call) {
  if (call.args.size() < 4) return {};
  return as<ShapeNode>(call.args[3])->dims.at(0);
}

const TensorAnnotation& known_tensor(const Annotation& annotation) {
  const auto* tensor = as_tensor(annotation);
  if (!tensor || !tensor->shape || !tensor->dtype) {
    throw_user("an output of a kernel has no known shape and dtype", "function body",
               "Tensor(shape, dtype)", to_string(annotation));
  }
  return *tensor;
}

FunctionItems::FunctionItems(const Module& module, const Function& function, const Bounds& bounds,
                             const analysis::Liveness& live, bool in_place)
    : module_(module),
      bounds_(bounds),
      live_(live),
      may_be_in_place_(in_place),
      sizes_(var_bounds_) {
  std::vector<Annotation> params;
  for (const Variable& param : function.params) {
    define(param->annotation, 0);
    params.push_back(param->annotation);
  }
  bind(params);
  item_of_.assign(live_.allocations.size(), -1);
  collect(body_of(function), -1);
}

int32_t FunctionItems::of_workspace(const VarNode* owner) const {
  auto found = workspace_of_.find(owner);
  return found == workspace_of_.end() ? -1 : found->second;
}

void FunctionItems::define(const Annotation& annotation, int64_t place) {
  std::vector<Var> vars;
  collect_vars(annotation, vars);
  for (const Var& var : vars) known_.emplace(var.get(), place);
}

// Bounds are checked where variables get their values, so they count as values.
void FunctionItems::bind(const std::vector<Annotation>& annotations) {
  for (const tapml::ExprNode* var : bind_symbols(annotations, symbols_)) {
    auto bound = bounds_.find(var->name);
    if (bound == bounds_.end()) continue;
    var_bounds_.emplace(var, bound->second);
    bounds_used_.insert(*bound);
  }
}

int64_t FunctionItems::known(const PrimExpr& bytes) const {
  int64_t place = 0;
  for (const Var& var : free_vars(bytes)) {
    auto found = known_.find(var.get());
    if (found != known_.end()) place = std::max(place, found->second);
  }
  return place;
}

// `outer`: the position before the enclosing branch; -1 at the top.
void FunctionItems::collect(const SeqNode& seq, int64_t outer) {
  for (const Block& block : seq.blocks) {
    for (const Binding& binding : block.bindings) {
      int64_t begin = outer >= 0 ? outer : position_;
      visit_parts(binding.value, [&](const SeqNode& part) { collect(part, begin); });
      if (is_call_tir(binding.value) && !binding.match_cast) collect_call(binding, outer);
      ++position_;
      if (binding.match_cast) {
        define(binding.match_cast, position_);
        bind({binding.match_cast});
      }
    }
  }
  visit_parts(seq.result, [&](const SeqNode& part) { collect(part, outer); });
}

void FunctionItems::collect_call(const Binding& binding, int64_t outer) {
  const auto& call = *as<CallNode>(binding.value);
  auto outputs = live_.outputs.find(binding.var.get());
  if (outputs != live_.outputs.end()) {
    for (int32_t id : outputs->second) {
      const analysis::Allocation& allocation = live_.allocations[static_cast<size_t>(id)];
      const TensorAnnotation& tensor = known_tensor(call.annotations[allocation.output]);
      int32_t size = sizes_.add(bytes_of(tensor));
      int32_t& item = item_of_[static_cast<size_t>(id)];
      item = in_place(call, binding.var.get(), allocation, size);
      if (item >= 0) {
        MemoryItem& taken = items_[static_cast<size_t>(item)];
        taken.last = std::max(taken.last, allocation.last);
        taken.escapes |= allocation.escapes;
      } else {
        item = add_item(size, allocation.first, allocation.last, outer);
        items_.back().escapes = allocation.escapes;
      }
    }
  }
  if (PrimExpr bytes = workspace_bytes(call)) {
    workspace_of_[binding.var.get()] = add_item(sizes_.add(bytes), position_, position_, outer);
  }
}

// Models repeat annotations, so equal ones are one node.
const PrimExpr& FunctionItems::bytes_of(const TensorAnnotation& tensor) {
  PrimExpr& bytes = bytes_by_annotation_[&tensor];
  if (!bytes) bytes = storage_bytes(*tensor.shape, *tensor.dtype);
  return bytes;
}

int32_t FunctionItems::add_item(int32_t size, int64_t first, int64_t last, int64_t outer) {
  MemoryItem item{.size = size, .first = first, .last = last};
  item.known = known(sizes_.bytes(size));
  item.place = outer >= 0 ? outer : first;
  if (item.known > item.place) {
    // Its size is known only inside the branch.
    item.place = first;
    item.alone = true;
  }
  items_.push_back(item);
  return static_cast<int32_t>(items_.size() - 1);
}

// The item whose storage the output may take over; -1: none.
int32_t FunctionItems::in_place(const CallNode& call, const VarNode* owner,
                                const analysis::Allocation& output, int32_t size) {
  if (!may_be_in_place_ || call.annotations.size() != 1) return -1;
  const analysis::KernelUse& use = live_.calls.at(owner);
  const BaseFunction* callee = module_.find(call_tir_callee(call));
  if (!callee || !is_kernel(callee)) return -1;
  const tir::PrimFunc& func = kernel_implementation(module_, call_tir_callee(call));
  for (size_t i = 0; i < use.args.size(); ++i) {
    const analysis::KernelUse::Argument& arg = use.args[i];
    if (arg.allocations.size() != 1 || !arg.whole) continue;
    auto id = static_cast<size_t>(arg.allocations[0]);
    const analysis::Allocation& input = live_.allocations[id];
    if (input.last != output.first || input.escapes || input.nested != output.nested) continue;
    // An alias of the same memory has to be read as safely.
    bool good = i < func.params.size() && use.args.size() + 1 == func.params.size();
    for (size_t j = 0; good && j < use.args.size(); ++j) {
      const auto& others = use.args[j].allocations;
      if (!std::binary_search(others.begin(), others.end(), arg.allocations[0])) continue;
      good = use.args[j].whole && shares_in_place(func, j);
    }
    const int32_t item = item_of_[id];
    const MemoryItem& taken = items_[static_cast<size_t>(item)];
    // Other tensors in the item's storage may live longer than this input. A call may also describe
    // its result by other dimensions than its input's that only turn out to be equal at run time.
    if (good && taken.last == output.first && sizes_.at_most(size, taken.size)) return item;
  }
  return -1;
}

bool FunctionItems::shares_in_place(const tir::PrimFunc& func, size_t input) {
  auto [known, fresh] = in_place_.emplace(std::pair(&func, input), false);
  if (fresh) {
    const size_t output = func.params.size() - 1;
    known->second = func.requirements ? func.requirements->allows_in_place(input, output)
                                      : may_compute_in_place(func, input, output);
  }
  return known->second;
}

}  // namespace tapml::passes
