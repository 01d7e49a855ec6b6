// Invariants R6 and R7 at one call of the call_tir family.
#include <set>

#include "analysis/verifier_impl.h"
#include "arith/symbols.h"
#include "relax/kernel_call.h"
#include "relax/visit.h"

namespace tapml::analysis {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// One side of the comparison; unknown parts agree with anything.
struct TensorType {
  std::string what;
  int ndim = kUnknownNdim;
  std::optional<DType> dtype;
  std::optional<Dims> dims;

  Annotation annotation() const {
    return dims ? tensor_annotation(*dims, dtype) : tensor_annotation_ndim(ndim, dtype);
  }
};

class KernelCall {
 public:
  KernelCall(const Module& module, const std::string& op, const CallNode& call, Report& report)
      : module_(module), op_(op), call_(call), report_(report) {}

  void run() {
    if (!shape_of_call() || !callee()) return;
    if (op_ == "call_tir_inplace") {
      inout();
    } else if (call_.attrs.contains("inout_indices")) {
      report_.add("R7", op_ + " has inout_indices, which only call_tir_inplace takes");
    }
    if (spec_) check_spec();
    check_implementation();
  }

 private:
  void fail(std::string message) { report_.add("R6", op_ + " " + std::move(message)); }

  // call_tir(@K, (tensors...)[, shape[, shape(workspace bytes)]]) and
  // call_tir_dps(@K, (inputs...), (outputs...)[, shape[, workspace storage]]).
  bool shape_of_call() {
    bool dps = op_ == "call_tir_dps";
    size_t tuples = dps ? 2 : 1;
    const auto& args = call_.args;
    bool good = args.size() > tuples && args.size() <= tuples + 3 && as<GlobalVarNode>(args[0]);
    for (size_t i = 1; good && i <= tuples; ++i) good = as<TupleNode>(args[i]) != nullptr;
    if (good && args.size() >= tuples + 2) good = as<ShapeNode>(args[tuples + 1]) != nullptr;
    if (good && args.size() == tuples + 3) good = is_workspace(args[tuples + 2], dps);
    if (!good) {
      fail(dps ? "takes a function, a tuple of inputs, a tuple of outputs and optionally a shape, "
                 "then optionally a storage"
               : "takes a function, a tuple of tensors and optionally a shape, then optionally the "
                 "bytes of its workspace");
      return false;
    }
    for (const Expr& field : as<TupleNode>(args[1])->fields) inputs_.push_back(type_of(field));
    if (args.size() >= tuples + 2) symbols_ = as<ShapeNode>(args[tuples + 1])->dims;
    if (dps) {
      for (const Expr& field : as<TupleNode>(args[2])->fields) outputs_.push_back(type_of(field));
      return true;
    }
    if (call_.annotations.empty()) {
      fail("has no annotation of its outputs");
      return false;
    }
    for (const Annotation& annotation : call_.annotations) {
      outputs_.push_back(type_of(annotation, "an output"));
    }
    return true;
  }

  static bool is_workspace(const Expr& arg, bool dps) {
    if (dps) return as<VarNode>(arg) != nullptr;
    const auto* bytes = as<ShapeNode>(arg);
    return bytes && bytes->dims.size() == 1;
  }

  static TensorType type_of(const Annotation& annotation, const std::string& what) {
    TensorType type{what, kUnknownNdim, std::nullopt, std::nullopt};
    if (const auto* tensor = as_tensor(annotation)) {
      type.ndim = tensor->ndim;
      type.dtype = tensor->dtype;
      type.dims = tensor->shape;
    }
    return type;
  }

  static TensorType type_of(const Expr& arg) {
    const auto* var = as<VarNode>(arg);
    if (var) return type_of(var->annotation, "'" + var->name + "'");
    if (as<ConstantNode>(arg)) return type_of(annotation_of(arg), "a constant");
    return {"an argument", kUnknownNdim, std::nullopt, std::nullopt};
  }

  bool callee() {
    const std::string& name = as<GlobalVarNode>(call_.args[0])->name;
    const BaseFunction* function = module_.find(name);
    if (!function) return false;  // R5 reports it
    spec_ = as_relax_function(function);
    implementation_ = tir::as_prim_func(function);
    if (!spec_) return true;
    const std::string& implementation = spec_->facts.implementation;
    implementation_ = tir::as_prim_func(module_.find(implementation));
    if (!spec_->facts.kernel) {
      fail("names @" + name + ", which is not a kernel (attribute \"kernel\")");
    } else if (implementation.empty()) {
      fail("names @" + name + ", which has no attribute \"implementation\"");
    } else if (!implementation_) {
      fail("names @" + name + ", whose implementation @" + implementation +
           " is not a tensor program");
    } else {
      return true;
    }
    return false;
  }

  void inout() {
    const auto* indices = find_attr<std::vector<int64_t>>(call_.attrs, "inout_indices");
    if (!indices) return report_.add("R7", "call_tir_inplace has no list inout_indices");
    if (indices->size() != outputs_.size()) {
      report_.add("R7", "inout_indices has " + std::to_string(indices->size()) + " entries for " +
                            std::to_string(outputs_.size()) + " outputs");
      return;
    }
    std::set<int64_t> seen;
    for (int64_t index : *indices) {
      if (index == -1) continue;
      if (index < 0 || index >= static_cast<int64_t>(inputs_.size())) {
        report_.add("R7", "inout_indices names argument " + std::to_string(index) + " of " +
                              std::to_string(inputs_.size()));
        return;
      }
      if (!seen.insert(index).second) {
        report_.add("R7", "inout_indices names argument " + std::to_string(index) + " twice");
        return;
      }
      if (!as<VarNode>(as<TupleNode>(call_.args[1])->fields[index])) {
        report_.add("R7", "the argument that call_tir_inplace consumes is not a variable");
      }
    }
    inout_ = *indices;
  }

  // `values` are the values of the callee's symbolic variables at the call.
  void compare(const TensorType& ours, const TensorType& theirs, const VarMap& values) {
    if (ours.ndim != kUnknownNdim && theirs.ndim != kUnknownNdim && ours.ndim != theirs.ndim) {
      fail("passes " + ours.what + " of rank " + std::to_string(ours.ndim) + " as " + theirs.what +
           " of rank " + std::to_string(theirs.ndim));
    } else if (ours.dtype && theirs.dtype && *ours.dtype != *theirs.dtype) {
      fail("passes " + ours.what + " of dtype " + dtype_name(*ours.dtype) + " as " + theirs.what +
           " of dtype " + dtype_name(*theirs.dtype));
    } else if (ours.dims && theirs.dims) {
      for (size_t i = 0; i < ours.dims->size(); ++i) {
        PrimExpr wanted = tapml::substitute((*theirs.dims)[i], values);
        if (!provably_different((*ours.dims)[i], wanted)) continue;
        return fail("passes " + ours.what + ", whose dimension " + std::to_string(i) + " is " +
                    to_string((*ours.dims)[i]) + ", as " + theirs.what + ", where it is " +
                    to_string(wanted));
      }
    }
  }

  static bool provably_different(const PrimExpr& a, const PrimExpr& b) {
    if (a.is_int() && b.is_int()) return a->int_value != b->int_value;
    // R10 checks that dimensions are i64.
    if (same_expr(a, b) || a.dtype() != b.dtype()) return false;
    arith::Analyzer analyzer = arith::analyzer_of({a, b});
    return analyzer.prove_less(a, b) || analyzer.prove_less(b, a);
  }

  // Values of the callee's variables that alone are a dimension of an input, and of those passed
  // separately.
  VarMap solve(const std::vector<TensorType>& params, const Dims& apart) const {
    VarMap values;
    for (size_t i = 0; i < params.size() && i < inputs_.size(); ++i) {
      unify(params[i].annotation(), inputs_[i].annotation(), values);
    }
    for (size_t i = 0; i < apart.size() && i < symbols_.size(); ++i) {
      if (apart[i].is_var()) values.emplace(apart[i].get(), symbols_[i]);
    }
    return values;
  }

  void compare(const std::vector<TensorType>& ours, const std::vector<TensorType>& theirs,
               const VarMap& values, const std::string& what) {
    if (ours.size() != theirs.size()) {
      return fail("passes " + std::to_string(ours.size()) + " " + what + ", the callee has " +
                  std::to_string(theirs.size()));
    }
    for (size_t i = 0; i < ours.size(); ++i) compare(ours[i], theirs[i], values);
  }

  void check_spec() {
    std::vector<TensorType> params, results;
    size_t symbols = 0;
    Dims apart;
    for (const Variable& param : spec_->params) {
      if (const auto* shape = as_shape(param->annotation)) {
        symbols += shape->ndim == kUnknownNdim ? 0 : static_cast<size_t>(shape->ndim);
        if (shape->dims) apart.insert(apart.end(), shape->dims->begin(), shape->dims->end());
      } else {
        params.push_back(type_of(param->annotation, "the spec's parameter '" + param->name + "'"));
      }
    }
    VarMap values = solve(params, apart);
    compare(inputs_, params, values, "tensors");
    if (symbols != symbols_.size()) {
      fail("passes " + std::to_string(symbols_.size()) + " symbolic integers, the spec has " +
           std::to_string(symbols));
    }
    if (op_ == "call_tir_dps") return;  // its outputs that are updated in place are inputs
    if (const auto* tuple = as_tuple(spec_->result)) {
      for (const Annotation& field : tuple->fields) {
        results.push_back(type_of(field, "the spec's result"));
      }
    } else {
      results.push_back(type_of(spec_->result, "the spec's result"));
    }
    compare(outputs_, results, values, "outputs");
    if (spec_->facts.inout_indices != inout_) {
      report_.add("R7", "the spec and the call have different inout_indices");
    }
  }

  void check_implementation() {
    std::vector<TensorType> params, results;
    std::vector<AccessMode> modes;
    for (const tir::Param& param : implementation_->params) {
      bool input = param.mode == AccessMode::kIn || param.mode == AccessMode::kInOut;
      if (!input && param.mode != AccessMode::kOut) continue;
      (input ? params : results)
          .push_back({"the implementation's '" + param.buffer->name + "'",
                      static_cast<int>(param.buffer->shape.size()), param.buffer->dtype,
                      param.buffer->shape});
      if (input) modes.push_back(param.mode);
    }
    std::vector<Var> extra = underived_scalars(*implementation_);
    VarMap values = solve(params, Dims(extra.begin(), extra.end()));
    compare(inputs_, params, values, "tensors");
    std::vector<TensorType> fresh;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (i >= inout_.size() || inout_[i] < 0) fresh.push_back(outputs_[i]);
    }
    compare(fresh, results, values, "outputs of their own");
    if (op_ != "call_tir_dps" && modes.size() == inputs_.size()) {
      std::set<int64_t> consumed(inout_.begin(), inout_.end());
      for (size_t i = 0; i < modes.size(); ++i) {
        bool updates = consumed.contains(static_cast<int64_t>(i));
        if (updates == (modes[i] == AccessMode::kInOut)) continue;
        fail("passes " + inputs_[i].what + (updates ? " to be updated" : " to be read") + " as " +
             params[i].what + " of mode " + access_mode_name(modes[i]));
      }
    }
    if (!spec_ && extra.size() != symbols_.size()) {
      fail("passes " + std::to_string(symbols_.size()) + " symbolic integers, the callee needs " +
           std::to_string(extra.size()));
    }
  }

  const Module& module_;
  const std::string& op_;
  const CallNode& call_;
  Report& report_;
  const Function* spec_ = nullptr;
  const tir::PrimFunc* implementation_ = nullptr;
  std::vector<TensorType> inputs_, outputs_;
  std::vector<int64_t> inout_;
  Dims symbols_;
};

}  // namespace

void verify_kernel_call(const Module& module, const std::string& op, const CallNode& call,
                        Report& report) {
  KernelCall(module, op, call, report).run();
}

}  // namespace tapml::analysis
