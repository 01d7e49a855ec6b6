// Random graph-level programs over the operator table.
#pragma once

#include <algorithm>

#include "support/generated_program.h"

namespace tapml::testing {

struct RandomGraph {
  Module module;  // one function, "main"
  std::vector<HostTensor> arguments;
};

// Grows a program operator by operator: the first argument of each is an earlier value, the others
// are earlier values, fresh parameters or constants. Dimensions of at least 2 are symbolic in half
// of the programs, equal ones as the same variable.
class GraphGenerator {
 public:
  explicit GraphGenerator(uint64_t seed)
      : rng_(seed, "graph"), names_(rng_.chance(0.5) ? DimForm::kSymbolic : DimForm::kStatic) {}

  RandomGraph make(int operators) {
    extents_ = {1, static_cast<int64_t>(2 + rng_.below(4)),
                static_cast<int64_t>(6 + rng_.below(15))};
    if (rng_.chance(0.05)) extents_.push_back(0);
    f_.begin_dataflow();
    while (values_.empty()) start();
    for (int made = 0, attempts = 0; made < operators && attempts < 60 * operators; ++attempts) {
      made += grow();
    }
    RandomGraph graph;
    // All unused values, and sometimes an intermediate value.
    std::vector<relax::Expr> results;
    for (const Known& value : values_) {
      if (value.made && (value.uses == 0 || rng_.chance(0.1))) results.push_back(value.variable);
    }
    if (results.empty()) results.push_back(values_.back().variable);
    relax::Variable result = f_.emit(relax::make_tuple(results), "", true);
    f_.end_dataflow();
    graph.module.functions["main"] = f_.finish(result);
    graph.arguments = std::move(arguments_);
    return graph;
  }

 private:
  struct Known {
    relax::Expr variable;
    DType dtype;
    Shape shape;
    bool made = false;  // by an operator
    int uses = 0;
  };

  void start() {
    const op::OperatorInfo& info = any_operator();
    if (info.generator.ranks.empty()) return;
    op::GeneratedTensor type{
        op::pick(info.generator.dtypes, rng_), {}, info.generator.low, info.generator.high};
    int rank = op::pick(info.generator.ranks, rng_);
    for (int d = 0; d < rank; ++d) type.shape.push_back(op::pick(extents_, rng_));
    values_.push_back({parameter(type), type.dtype, type.shape});
  }

  // Products more often than others: libraries have routines for them alone.
  const op::OperatorInfo& any_operator() {
    if (rng_.chance(0.05)) return *op::find_operator("matmul");
    auto table = op::operator_table();
    return *table[rng_.below(static_cast<uint32_t>(table.size()))];
  }

  relax::Expr parameter(const op::GeneratedTensor& type) {
    arguments_.push_back(op::random_tensor(type, rng_));
    return f_.param("x" + std::to_string(arguments_.size()),
                    relax::tensor_annotation(names_.tensor(type.shape), type.dtype));
  }

  // An earlier value of exactly this type, a parameter or a constant. Integers have meaning
  // (indices), so they are drawn afresh.
  relax::Expr operand(const op::GeneratedTensor& type) {
    if (is_float(type.dtype) && rng_.chance(0.6)) {
      std::vector<size_t> fitting;
      for (size_t i = 0; i < values_.size(); ++i) {
        if (values_[i].dtype == type.dtype && values_[i].shape == type.shape) fitting.push_back(i);
      }
      if (!fitting.empty()) {
        Known& value = values_[op::pick(fitting, rng_)];
        ++value.uses;
        return value.variable;
      }
    }
    if (rng_.chance(0.25) && is_constant_shape(type.shape)) {
      return relax::make_constant(op::random_tensor(type, rng_));
    }
    return parameter(type);
  }

  bool is_constant_shape(const Shape& shape) const {
    return names_.form() == DimForm::kStatic ||
           std::all_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 2; });
  }

  // Adds one call; false if this draw gives none.
  bool grow() {
    if (rng_.chance(0.1)) start();
    const op::OperatorInfo& info = any_operator();
    // Tensors updated in place must not be read again; the walk tests these operators separately.
    if (!info.inout.empty()) return false;
    size_t at = rng_.below(static_cast<uint32_t>(values_.size()));
    if (rng_.chance(0.5)) at = values_.size() - 1;  // deep rather than wide
    op::GeneratedTensor first{values_[at].dtype, values_[at].shape, info.generator.low,
                              info.generator.high};
    op::GeneratedCall call;
    bool creates = info.generator.ranks.empty();
    bool valid = creates ? op::generate_call(info, op::pick(info.generator.dtypes, rng_), extents_,
                                             rng_, call)
                         : op::generate_call_of(info, first, rng_, call);
    if (!valid || !accepted(info, call)) return false;
    std::vector<relax::Expr> args;
    for (size_t i = 0; i < call.args.size(); ++i) {
      std::vector<relax::Expr> tensors;
      for (const op::GeneratedTensor& type : call.args[i].tensors) {
        bool given = i == 0 && tensors.empty() && !creates;
        tensors.push_back(given ? values_[at].variable : operand(type));
      }
      switch (info.args[i].kind) {
        case op::ArgumentKind::kTensor:
          args.push_back(tensors.at(0));
          break;
        case op::ArgumentKind::kTensors:
          args.push_back(relax::make_tuple(tensors));
          break;
        case op::ArgumentKind::kShape:
          args.push_back(relax::make_shape(names_.integers(call.args[i].ints)));
          break;
        case op::ArgumentKind::kPrim:
          args.push_back(relax::make_prim_value(names_.integers(call.args[i].ints).at(0)));
          break;
      }
    }
    relax::Variable result = f_.emit_op(info.name, args, call.attrs);
    ++values_[at].uses;
    keep(result);
    return true;
  }

  // Whether deduction and legalization accept the call in this program's form.
  bool accepted(const op::OperatorInfo& info, const op::GeneratedCall& call) {
    Module alone;
    // Dimensions below 2 stay numbers, so a call may have no symbolic form at all.
    DimForm form = names_.form();
    bool symbolic = form == DimForm::kSymbolic && has_large_dim(call);
    return add_generated(alone, "main", info, call, symbolic ? form : DimForm::kStatic);
  }
  static bool has_large_dim(const op::GeneratedCall& call) {
    for (const op::GeneratedArg& arg : call.args) {
      for (const op::GeneratedTensor& tensor : arg.tensors) {
        for (int64_t dim : tensor.shape) {
          if (dim >= 2) return true;
        }
      }
    }
    return false;
  }

  // Later calls may use the value of `variable` if its shape is known before the run.
  void keep(const relax::Variable& variable) { keep(variable, variable->annotation); }
  void keep(const relax::Expr& value, const relax::Annotation& annotation) {
    if (const auto* tuple = relax::as_tuple(annotation)) {
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        relax::Variable field = f_.emit(relax::make_get_item(value, static_cast<int>(i)));
        keep(field, tuple->fields[i]);
      }
      return;
    }
    const auto* tensor = relax::as_tensor(annotation);
    if (!tensor || !tensor->shape || !tensor->dtype) return;
    Shape shape;
    int64_t elements = 1;
    for (const PrimExpr& dim : *tensor->shape) {
      auto extent = arith::evaluate(dim, names_.values());
      if (!extent) return;
      shape.push_back(*extent);
      elements *= *extent;
    }
    // Values that grow too large become results, not operands.
    if (elements > 20'000 || shape.size() > 5) return;
    // A computed extent gets its own name only through a parameter.
    if (!names_.states(*tensor->shape, shape)) return;
    values_.push_back({value, *tensor->dtype, shape, true});
  }

  RandomStream rng_;
  DimNames names_;
  Module own_;
  build::FunctionBuilder f_{own_};
  std::vector<int64_t> extents_;
  std::vector<Known> values_;
  std::vector<HostTensor> arguments_;
};

}  // namespace tapml::testing
