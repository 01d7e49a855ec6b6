#include "support/random_arguments.h"

#include <algorithm>
#include <cmath>

#include "arith/evaluate.h"
#include "fuzz/oracles/compare.h"

namespace tapml::testing {

namespace {

class Arguments {
 public:
  Arguments(const Module& module, RandomStream& rng, int largest)
      : module_(module), rng_(rng), largest_(largest) {}

  std::optional<interp::Value> of(const relax::Annotation& annotation) {
    if (const auto* prim = relax::as_prim(annotation)) return scalar(*prim);
    if (const auto* shape = relax::as_shape(annotation)) {
      auto dims = dimensions(shape->dims, shape->ndim);
      if (!dims) return std::nullopt;
      return interp::Value::shape(*dims);
    }
    if (const auto* tuple = relax::as_tuple(annotation)) {
      interp::ValueList fields;
      for (const relax::Annotation& field : tuple->fields) {
        auto value = of(field);
        if (!value) return std::nullopt;
        fields.push_back(std::move(*value));
      }
      return interp::Value::tuple(std::move(fields));
    }
    if (const auto* callable = relax::as_callable(annotation)) return function(*callable);
    const auto* tensor = relax::as_tensor(annotation);
    if (!tensor) return interp::Value::prim(static_cast<int64_t>(rng_.below(4)));
    auto dims = dimensions(tensor->shape, tensor->ndim);
    if (!dims) return std::nullopt;
    return interp::Value::tensor(elements(tensor->dtype.value_or(DType::kF32), *dims));
  }

 private:
  std::optional<int64_t> integer(const PrimExpr& expr) {
    std::vector<Var> vars;
    collect_vars(expr, vars);
    for (const Var& var : vars) {
      values_.try_emplace(var.get(), rng_.chance(0.1) ? 0 : 1 + rng_.below(largest_));
    }
    return arith::evaluate(expr, values_);
  }

  std::optional<std::vector<int64_t>> dimensions(const std::optional<Dims>& dims, int ndim) {
    std::vector<int64_t> result;
    int64_t elements = 1;
    if (!dims) {
      if (ndim > 6) return std::nullopt;
      for (int d = ndim < 0 ? 1 : ndim; d > 0; --d) result.push_back(1 + rng_.below(3));
      return result;
    }
    for (const PrimExpr& dim : *dims) {
      auto value = integer(dim);
      if (!value || *value < 0 || *value > 100) return std::nullopt;
      elements *= std::max<int64_t>(*value, 1);
      if (elements > 2000) return std::nullopt;
      result.push_back(*value);
    }
    return result;
  }

  std::optional<interp::Value> scalar(const relax::PrimAnnotation& prim) {
    int64_t value = rng_.below(5);
    if (prim.value && !is_float(prim.dtype)) {
      auto known = integer(prim.value);
      if (!known) return std::nullopt;
      value = *known;
    }
    if (prim.dtype == DType::kI64) return interp::Value::prim(value);
    if (prim.dtype == DType::kBool) value = value != 0;
    if (is_float(prim.dtype)) return interp::Value::scalar({prim.dtype, 0, double(value)});
    return interp::Value::scalar({prim.dtype, value, 0});
  }

  // A function of the module with the same number of parameters that passes cannot remove.
  std::optional<interp::Value> function(const relax::CallableAnnotation& callable) {
    std::vector<std::string> fitting;
    for (const auto& [name, base] : module_.functions) {
      const auto* graph = relax::as_relax_function(base.get());
      if (!graph || graph->facts.pattern || graph->facts.kernel) continue;
      if (graph->params.size() == callable.params.size() && graph->pure >= callable.pure) {
        fitting.push_back(name);
      }
    }
    if (fitting.empty()) return std::nullopt;
    return interp::Value::function(fitting[rng_.below(static_cast<uint32_t>(fitting.size()))]);
  }

  op::RefTensor elements(DType dtype, const Shape& shape) {
    op::RefTensor tensor = op::RefTensor::zeros(dtype, shape);
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      int64_t number =
          is_float(dtype) || is_signed_integer(dtype) ? rng_.between(-4, 4) : rng_.between(0, 4);
      if (dtype == DType::kBool) number = rng_.below(2);
      if (is_float(dtype)) {
        tensor.values[i] = static_cast<double>(number) / 2;
      } else {
        tensor.set_integer(i, number);
      }
    }
    return tensor;
  }

  const Module& module_;
  RandomStream& rng_;
  uint32_t largest_;
  arith::Values values_;
};

}  // namespace

std::optional<std::vector<interp::Value>> random_arguments(const Module& module,
                                                           const relax::Function& function,
                                                           RandomStream& rng, int largest) {
  Arguments arguments(module, rng, largest);
  std::vector<interp::Value> values;
  for (const relax::Variable& param : function.params) {
    auto value = arguments.of(param->annotation);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

std::string difference_beyond_bounds(const interp::Value& expected, const interp::Value& found,
                                     const OpenElements& open) {
  fuzz::Tally tally;
  const std::string difference = fuzz::difference(expected, found, tally);
  if (!difference.empty()) return difference;
  return open.problem(tally.open, tally.all).value_or("");
}

}  // namespace tapml::testing
