#include "passes/lower_storage.h"

#include <set>

#include "analysis/alias_sets.h"
#include "ir/exceptions.h"
#include "ir/symbol.h"
#include "op/operator.h"
#include "op/shapes.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "passes/storage/copy_programs.h"
#include "passes/storage/view_flow.h"
#include "relax/check_location.h"
#include "relax/storage.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool has_shape(const Annotation& annotation) {
  const auto* tensor = as_tensor(annotation);
  return tensor && tensor->shape && tensor->dtype;
}

bool same_tensors(const Annotation& a, const Annotation& b) {
  const auto *x = as_tensor(a), *y = as_tensor(b);
  if (!x || !y || !x->shape || !y->shape || !x->dtype || x->dtype != y->dtype ||
      x->shape->size() != y->shape->size()) {
    return false;
  }
  for (size_t d = 0; d < x->shape->size(); ++d) {
    if (!op::provably_equal((*x->shape)[d], (*y->shape)[d])) return false;
  }
  return true;
}

Dims compact_strides(const Dims& shape) {
  Dims strides(shape.size(), PrimExpr(1));
  for (size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = op::simplified(strides[d] * shape[d]);
  }
  return strides;
}

// Lowers one function.
class StorageLowering {
 public:
  // `from_outside`: called only from outside the module.
  StorageLowering(Module& module, const Module& original, const Function& function,
                  const ViewFlow& flow, bool writes, bool from_outside)
      : module_(module),
        original_(original),
        flow_(flow),
        aliases_(analysis::alias_sets(function, &original)),
        writes_(writes),
        from_outside_(from_outside) {}

  Expr run(const SeqNode& body) { return sequence(body, from_outside_); }

 private:
  // Where bindings are appended.
  struct Place {
    std::vector<Binding>* bindings = nullptr;
    bool dataflow = false;
    Origin origin;
    CheckNote note = {};  // the current binding, for messages
  };
  struct Copy {
    Variable tensor;
    int64_t writes;  // number of writes before it was made
  };
  struct Known {
    std::map<const VarNode*, Variable> named;
    std::map<const VarNode*, Copy> copies;
  };

  // The entry for the variable in the innermost sequence that has one, or null.
  template <class T>
  const T* find_known(std::map<const VarNode*, T> Known::* table, const VarNode* var) const {
    for (size_t i = known_.size(); i-- > 0;) {
      auto it = (known_[i].*table).find(var);
      if (it != (known_[i].*table).end()) return &it->second;
    }
    return nullptr;
  }

  // ---- blocks

  Expr sequence(const SeqNode& seq, bool returns_to_host) {
    known_.emplace_back();
    std::vector<Block> blocks;
    for (const Block& block : seq.blocks) {
      Block before{.dataflow = false, .bindings = {}};
      Block own{.dataflow = block.dataflow, .bindings = {}};
      const Place outer_place = std::exchange(current_, Place{&own.bindings, block.dataflow, {}});
      const Place outer_before = std::exchange(before_, Place{&before.bindings, false, {}});
      auto outer_block = std::exchange(bound_in_block_, {});
      for (const Binding& binding : block.bindings) lower(binding);
      if (block.dataflow) forget(bound_in_block_);
      current_ = outer_place;
      before_ = outer_before;
      bound_in_block_ = std::move(outer_block);
      if (!before.bindings.empty()) blocks.push_back(std::move(before));
      if (!own.bindings.empty()) blocks.push_back(std::move(own));
    }
    Block last{.dataflow = false, .bindings = {}};
    const Place outer_place = std::exchange(current_, Place{&last.bindings, false, {}});
    Expr result = returns_to_host ? readable(seq.result, current_) : seq.result;
    if (writes_) result = without_constants(result);
    current_ = outer_place;
    if (!last.bindings.empty()) blocks.push_back(std::move(last));
    known_.pop_back();
    return make_seq(std::move(blocks), std::move(result));
  }

  // Variables local to a dataflow block are not visible after it.
  void forget(const std::set<const VarNode*>& bound) {
    for (const VarNode* var : bound) {
      known_.back().named.erase(var);
      known_.back().copies.erase(var);
    }
  }

  Variable emit(const Place& place, const std::string& name, Annotation annotation, Expr value,
                bool cast = false) {
    Variable var = make_variable(name, annotation, place.dataflow);
    place.bindings->push_back(
        {var, std::move(value), cast ? annotation : nullptr, place.origin, place.note});
    if (place.bindings == current_.bindings) bound_in_block_.insert(var.get());
    return var;
  }

  void keep(Binding binding) { current_.bindings->push_back(std::move(binding)); }

  // ---- bindings

  void lower(const Binding& source) {
    Binding binding = source;
    current_.origin = before_.origin = source.origin;
    current_.note = before_.note = written_note(source);
    bound_in_block_.insert(source.var.get());
    if (const auto* branch = as<IfNode>(binding.value)) {
      auto node = std::make_shared<IfNode>();
      node->condition = readable(branch->condition, current_);
      node->then_branch = sequence(*as<SeqNode>(branch->then_branch), false);
      node->else_branch = sequence(*as<SeqNode>(branch->else_branch), false);
      binding.value = node;
      return keep(std::move(binding));
    }
    const auto* call = as<CallNode>(binding.value);
    if (!call) {
      const bool constant = as<ConstantNode>(binding.value) != nullptr;
      if (writes_ && (!constant || may_tell(source.var.get()))) {
        binding.value = without_constants(binding.value);
      }
      return keep(std::move(binding));
    }
    const StorageOp op = storage_op(*call);
    if (op == StorageOp::kAssign) return assign(binding, *call);
    if (op == StorageOp::kAssignSlice) return assign_slice(binding, *call);
    if (op != StorageOp::kNone) return keep(std::move(binding));
    if (!as<OperatorNode>(call->callee) && !as<ExternFuncNode>(call->callee)) {
      return call_function(std::move(binding), *call);
    }
    if (updated(*call) && update(binding, *call)) return;
    const auto* first = call->args.empty() ? nullptr : as<VarNode>(call->args[0]);
    const bool own = is_view(called_operator(binding.value)) && writes_ && first && may_tell(first);
    // A tensor of unknown rank is copied when it has its new shape.
    const bool copies_result = own && !may_be_tensor(first->annotation) &&
                               !flow_.may_be_view(first) && has_shape(binding.var->annotation);
    std::vector<Expr> args;
    for (const Expr& arg : call->args) {
      const bool copied = own && !copies_result && args.empty();
      args.push_back(copied ? copy_of(arg, current_) : readable(arg, current_));
    }
    binding.value = make_call(call->callee, std::move(args), call->attrs, call->annotations);
    if (copies_result) return keep_copy_of(std::move(binding));
    if (as<ExternFuncNode>(as<CallNode>(binding.value)->callee)) {
      ++write_count_;
      if (writes_ && may_tell(source.var.get())) return keep_copy_of(std::move(binding));
    }
    keep(std::move(binding));
  }

  // Whether a write could reveal that the variable's storage is shared.
  bool may_tell(const VarNode* var) const {
    return aliases_.may_be_written(var) || aliases_.is_shared(var);
  }

  void call_function(Binding binding, const CallNode& call) {
    const auto* global = as<GlobalVarNode>(call.callee);
    const auto* function = global ? as_relax_function(original_.find(global->name)) : nullptr;
    const bool fused = function && is_fused(*function);
    std::vector<Expr> args;
    for (const Expr& arg : call.args) {
      if (fused) {
        args.push_back(readable(arg, current_));
      } else {
        args.push_back(writes_ ? without_constants(arg) : arg);
      }
    }
    binding.value = make_call(call.callee, std::move(args), call.attrs, call.annotations);
    if (!function || !function->pure) ++write_count_;
    keep(std::move(binding));
  }

  // A packed function or a view may return its argument.
  void keep_copy_of(Binding binding) {
    const auto* tensor = as_tensor(binding.var->annotation);
    if (!tensor || !tensor->dtype || (!tensor->shape && tensor->ndim == kUnknownNdim)) {
      return keep(std::move(binding));
    }
    Variable made = make_variable(binding.var->name + "_made", binding.var->annotation);
    keep({made, binding.value, nullptr, binding.origin, current_.note});
    Expr known = named(made, current_, nullptr);
    keep({binding.var, make_op_call("copy", {known}), nullptr, binding.origin, binding.check});
  }

  // Constants must not be written: where they could be, a copy replaces them.
  Expr without_constants(const Expr& expr) {
    if (as<ConstantNode>(expr)) {
      return emit(current_, "own", annotation_of(expr), make_op_call("copy", {expr}));
    }
    const auto* tuple = as<TupleNode>(expr);
    if (!tuple) return expr;
    std::vector<Expr> fields;
    for (const Expr& field : tuple->fields) fields.push_back(without_constants(field));
    return make_tuple(std::move(fields));
  }

  // ---- reading

  // The operand with copies in place of possible views.
  Expr readable(const Expr& expr, const Place& place) {
    if (const auto* var = as<VarNode>(expr)) {
      return flow_.may_be_view(var) && may_be_tensor(var->annotation) ? compact(expr, place) : expr;
    }
    const auto* tuple = as<TupleNode>(expr);
    if (!tuple) return expr;
    std::vector<Expr> fields;
    for (const Expr& field : tuple->fields) fields.push_back(readable(field, place));
    return make_tuple(std::move(fields));
  }

  // Requires known rank and dtype. Other values are not copied here; the VM copies them where
  // needed.
  static bool may_be_tensor(const Annotation& annotation) {
    const auto* tensor = as_tensor(annotation);
    return tensor && tensor->dtype && (tensor->shape || tensor->ndim != kUnknownNdim);
  }

  // A variable bound outside a dataflow block is read before it: nothing is written inside.
  Place place_for(const VarNode* var, const Place& place) const {
    return place.dataflow && !bound_in_block_.contains(var) ? before_ : place;
  }

  // `expr` with a shape: its own, that of `other` if certainly equal, or new symbols.
  Expr named(const Expr& expr, Place place, const Annotation& other) {
    const auto* var = as<VarNode>(expr);
    if (!var || has_shape(var->annotation)) return expr;
    if (const Variable* known = find_known(&Known::named, var)) return *known;
    place = place_for(var, place);
    const auto* tensor = as_tensor(var->annotation);
    const bool has_dims = tensor && tensor->shape;
    Annotation annotation = !has_dims && other && has_shape(other) ? other : shape_of(*var, other);
    Variable known = emit(place, var->name + "_known", annotation, expr, true);
    known_.back().named[var] = known;
    return known;
  }

  static Annotation shape_of(const VarNode& var, const Annotation& other) {
    const auto *tensor = as_tensor(var.annotation), *like = as_tensor(other);
    std::optional<DType> dtype = tensor ? tensor->dtype : std::nullopt;
    int ndim = tensor ? tensor->ndim : kUnknownNdim;
    if (!dtype && like) dtype = like->dtype;
    if (ndim == kUnknownNdim && like) ndim = like->ndim;
    if (dtype && tensor && tensor->shape) return tensor_annotation(*tensor->shape, dtype);
    if (!dtype || ndim == kUnknownNdim) {
      throw_user("a tensor that is written or copied has no known rank and dtype",
                 "variable " + var.name, "Tensor(ndim=2, f32), say", to_string(var.annotation),
                 "a match_cast before gives it one");
    }
    Dims dims;
    for (int d = 0; d < ndim; ++d) dims.push_back(make_size(var.name + "_d" + std::to_string(d)));
    return tensor_annotation(std::move(dims), dtype);
  }

  // A tensor with the elements of `expr`, which may be a view.
  Expr compact(const Expr& expr, Place place) {
    const auto* var = as<VarNode>(expr);
    place = place_for(var, place);
    const Copy* made = find_known(&Known::copies, var);
    if (made && made->writes == write_count_) return made->tensor;
    const Expr view = named(expr, place, nullptr);
    Variable copy;
    if (place.dataflow) {
      copy = gather(view, place);
    } else {
      Variable is_tensor = emit(place, var->name + "_is_tensor", prim_annotation(DType::kBool),
                                make_op_call("storage.is_tensor", {view}));
      auto branch = std::make_shared<IfNode>();
      branch->condition = is_tensor;
      branch->then_branch = make_seq({}, view);
      Block apart{.dataflow = false, .bindings = {}};
      Expr gathered = gather(view, Place{&apart.bindings, false, place.origin, place.note});
      branch->else_branch = make_seq({std::move(apart)}, std::move(gathered));
      copy = emit(place, var->name + "_elements", annotation_of(view), branch);
    }
    known_.back().copies[var] = {copy, write_count_};
    return copy;
  }

  // The same, but always in new storage.
  Expr copy_of(const Expr& expr, Place place) {
    const auto* var = as<VarNode>(expr);
    place = place_for(var, place);
    const Expr source = named(expr, place, nullptr);
    if (flow_.may_be_view(var)) return gather(source, place);
    return emit(place, var->name + "_copy", annotation_of(source), make_op_call("copy", {source}));
  }

  Variable gather(const Expr& view, const Place& place) {
    const Annotation annotation = annotation_of(view);
    const Expr base = base_of(view, true, place);
    const ViewLocation where = place_of(view, place);
    return emit(place, as<VarNode>(view)->name + "_copy", annotation,
                call_read_view(module_, base, where, annotation));
  }

  // The base tensor of `view`, as a vector of known size.
  Expr base_of(const Expr& view, bool may_be_part, const Place& place) {
    const std::string& name = as<VarNode>(view)->name;
    const Annotation annotation = annotation_of(view);
    const auto* tensor = as_tensor(annotation);
    Variable found = emit(place, name + "_base", tensor_annotation_ndim(1, tensor->dtype),
                          make_op_call("storage.base", {view}));
    PrimExpr size = may_be_part ? PrimExpr(make_size(name + "_size")) : op::product(*tensor->shape);
    return emit(place, name + "_vector", tensor_annotation({size}, tensor->dtype), found, true);
  }

  ViewLocation place_of(const Expr& view, const Place& place) {
    const std::string& name = as<VarNode>(view)->name;
    const Annotation annotation = annotation_of(view);
    const size_t rank = as_tensor(annotation)->shape->size();
    Variable found =
        emit(place, name + "_layout", shape_annotation_ndim(static_cast<int>(rank) + 1),
             make_op_call("storage.layout", {view}));
    Dims numbers = {make_var(name + "_first")};
    for (size_t d = 0; d < rank; ++d) numbers.push_back(make_var(name + "_s" + std::to_string(d)));
    emit(place, name + "_place", shape_annotation(numbers), found, true);
    return {numbers[0], Dims(numbers.begin() + 1, numbers.end())};
  }

  // ---- writing

  void assign(const Binding& binding, const CallNode& call) {
    const Expr &target = call.args[0], &source = call.args[1];
    check_fit(target, source);
    const Expr values = named(source, current_, annotation_of(target));
    const Expr to = named(target, current_, annotation_of(values));
    write(to, as<VarNode>(target), false, source_of(values, source, as<VarNode>(target)));
    keep({binding.var, make_tuple({}), nullptr, binding.origin, binding.check});
  }

  void assign_slice(const Binding& binding, const CallNode& call) {
    const Expr &target = call.args[0], &source = call.args[1];
    const Expr values = named(source, current_, without_shape(annotation_of(target)));
    const Annotation annotation = annotation_of(values), whole = annotation_of(target);
    const auto *known = as_tensor(annotation), *of = as_tensor(whole);
    Variable part =
        emit(current_, as<VarNode>(target)->name + "_part",
             tensor_annotation(*known->shape, of ? of->dtype : std::nullopt),
             make_op_call("view_slice", {target, call.args[2], make_shape(*known->shape)}));
    check_fit(part, values);
    const Expr to = named(part, current_, annotation);
    write(to, as<VarNode>(target), true, source_of(values, source, as<VarNode>(target)));
    keep({binding.var, make_tuple({}), nullptr, binding.origin, binding.check});
  }

  static Annotation without_shape(const Annotation& annotation) {
    const auto* tensor = as_tensor(annotation);
    return tensor ? tensor_annotation_ndim(tensor->ndim, tensor->dtype) : annotation;
  }

  void check_fit(const Expr& target, const Expr& source) {
    if (same_tensors(annotation_of(target), annotation_of(source))) return;
    Expr checked = source;
    if (as<ConstantNode>(source)) {
      checked = emit(current_, "assigned", annotation_of(source), source);
    }
    emit(current_, "fits", tuple_annotation({}),
         make_op_call("storage.check_assign", {target, checked}));
  }

  // The assigned value, in storage that the write does not touch.
  Expr source_of(const Expr& values, const Expr& source, const VarNode* target) {
    const auto* var = as<VarNode>(source);
    if (!var) return values;
    if (aliases_.may_alias(var, target)) return copy_of(source, current_);
    const Expr elements = readable(source, current_);
    return elements == source ? values : elements;
  }

  void write(const Expr& to, const VarNode* target, bool is_part, const Expr& values) {
    const bool may_be_part = is_part || flow_.may_be_view(target);
    const Annotation annotation = annotation_of(to);
    const Expr base = base_of(to, may_be_part, current_);
    const ViewLocation where =
        may_be_part ? place_of(to, current_)
                    : ViewLocation{PrimExpr(0), compact_strides(*as_tensor(annotation)->shape)};
    emit(current_, target->name + "_written", annotation_of(base),
         call_write_view(module_, base, values, where));
    ++write_count_;
  }

  // ---- updates in place

  static const std::vector<int64_t>* updated(const CallNode& call) {
    const auto* op = as<OperatorNode>(call.callee);
    if (!op) return nullptr;
    if (op->name == "call_tir_inplace") {
      return find_attr<std::vector<int64_t>>(call.attrs, kInoutAttr);
    }
    const op::OperatorInfo* info = op::operator_of(*op);
    return info ? &info->inout : nullptr;
  }

  // Handles a call that updates possible views: it updates copies, which are written back. Returns
  // false for other calls.
  bool update(const Binding& binding, const CallNode& call) {
    const std::vector<int64_t>& indices = *updated(call);
    const bool kernel = as<OperatorNode>(call.callee)->name == "call_tir_inplace";
    std::vector<Expr> args = kernel ? call_tir_args(call) : call.args;
    std::map<size_t, Expr> views;  // by output
    for (size_t j = 0; j < indices.size(); ++j) {
      if (indices[j] < 0 || static_cast<size_t>(indices[j]) >= args.size()) continue;
      Expr& arg = args[static_cast<size_t>(indices[j])];
      const auto* var = as<VarNode>(arg);
      if (!var || !flow_.may_be_view(var)) continue;
      views[j] = named(arg, current_, nullptr);
      arg = copy_of(arg, current_);
    }
    if (views.empty()) return false;
    for (Expr& arg : args) arg = readable(arg, current_);
    std::vector<Expr> all = call.args;
    if (kernel) {
      all[1] = make_tuple(std::move(args));
    } else {
      all = std::move(args);
    }
    Variable made = emit(current_, binding.var->name + "_made", binding.var->annotation,
                         make_call(call.callee, std::move(all), call.attrs, call.annotations));
    const auto* tuple = as_tuple(binding.var->annotation);
    std::vector<Expr> fields;
    for (size_t j = 0; j < indices.size(); ++j) {
      Expr field = made;
      if (tuple) {
        field = emit(current_, binding.var->name + "_" + std::to_string(j), tuple->fields.at(j),
                     make_get_item(made, static_cast<int>(j)));
      }
      auto view = views.find(j);
      if (view != views.end()) {
        write(view->second, as<VarNode>(view->second), true, field);
        field = view->second;
      }
      fields.push_back(field);
    }
    keep({binding.var, tuple ? make_tuple(std::move(fields)) : fields[0], nullptr, binding.origin,
          binding.check});
    return true;
  }

  Module& module_;
  const Module& original_;
  const ViewFlow& flow_;
  const analysis::AliasSets aliases_;
  const bool writes_, from_outside_;
  Place current_, before_;
  std::set<const VarNode*> bound_in_block_;  // in the current block
  std::vector<Known> known_;                 // by sequence, outermost first
  int64_t write_count_ = 0;
};

bool has_storage_operators(const Module& module) {
  for (const auto& [name, function] : graph_functions(module)) {
    bool found = false;
    visit_bindings(function->body, [&](const Binding& binding, bool) {
      const StorageOp op = storage_op(binding.value);
      found |= op != StorageOp::kNone && !is_storage_question(op);
    });
    if (found) return true;
  }
  return false;
}

}  // namespace

Module lower_storage(const Module& module) {
  if (!has_storage_operators(module)) return module;
  const ViewFlow flow(module);
  const bool writes = analysis::writes_storage(module);
  Module result = module;
  for (const auto& [name, function] : graph_functions(module)) {
    if (is_fused(*function)) continue;
    const bool from_outside = !flow.is_used(name) && !function->facts.is_private;
    StorageLowering lowering(result, module, *function, flow, writes, from_outside);
    result.functions[name] = with_body(*function, lowering.run(body_of(*function)));
  }
  return result;
}

}  // namespace tapml::passes
