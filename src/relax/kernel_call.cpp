#include "relax/kernel_call.h"

#include "arith/analyzer.h"
#include "ir/exceptions.h"

namespace tapml::relax {

namespace {

// Calls f(scalar, parameter, dimension) for each scalar that alone is a dimension of an input.
template <class F>
void visit_derived(const tir::PrimFunc& func, F&& f) {
  size_t input = 0;
  for (const tir::Param& param : func.params) {
    if (param.mode != AccessMode::kIn && param.mode != AccessMode::kInOut) continue;
    for (size_t d = 0; d < param.buffer->shape.size(); ++d) {
      if (param.buffer->shape[d].is_var()) f(param.buffer->shape[d], input, d);
    }
    ++input;
  }
}

}  // namespace

std::vector<Var> underived_scalars(const tir::PrimFunc& func) {
  std::vector<Var> result;
  for (const Var& scalar : func.scalars) {
    bool derived = false;
    visit_derived(func, [&](const Var& var, size_t, size_t) { derived |= var.same_as(scalar); });
    if (!derived) result.push_back(scalar);
  }
  return result;
}

std::vector<PrimExpr> scalar_values(const tir::PrimFunc& func, const std::vector<Annotation>& args,
                                    const Dims& symbols) {
  VarMap values;
  visit_derived(func, [&](const Var& var, size_t input, size_t dim) {
    const auto* tensor = input < args.size() ? as_tensor(args[input]) : nullptr;
    if (!tensor || !tensor->shape || dim >= tensor->shape->size()) {
      throw_internal("argument " + std::to_string(input) + " of a kernel has no known shape");
    }
    values.emplace(var.get(), (*tensor->shape)[dim]);
  });
  std::vector<PrimExpr> result;
  size_t next = 0;
  for (const Var& scalar : func.scalars) {
    auto it = values.find(scalar.get());
    if (it != values.end()) {
      result.push_back(it->second);
    } else if (next < symbols.size()) {
      result.push_back(symbols[next++]);
    } else {
      throw_internal("no value for scalar " + scalar->name + " of a kernel");
    }
  }
  return result;
}

Annotation buffer_annotation(const tir::Buffer& buffer, const VarMap& values) {
  Dims dims;
  for (const PrimExpr& dim : buffer->shape) {
    dims.push_back(arith::Analyzer().simplify(tapml::substitute(dim, values)));
  }
  return tensor_annotation(std::move(dims), buffer->dtype);
}

std::vector<Annotation> argument_annotations(const tir::PrimFunc& func,
                                             const std::vector<PrimExpr>& values) {
  VarMap at_call;
  for (size_t i = 0; i < values.size(); ++i) at_call[func.scalars[i].get()] = values[i];
  std::vector<Annotation> annotations;
  for (const tir::Param& param : func.params) {
    if (param.mode != AccessMode::kIn && param.mode != AccessMode::kInOut) continue;
    annotations.push_back(buffer_annotation(param.buffer, at_call));
  }
  return annotations;
}

}  // namespace tapml::relax
