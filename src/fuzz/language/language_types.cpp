#include <algorithm>

#include "arith/evaluate.h"
#include "build/block_builder.h"
#include "fuzz/language/language.h"
#include "ir/exceptions.h"

namespace tapml::fuzz {

using relax::Annotation;
using relax::Expr;
using relax::Variable;

std::vector<int64_t> LanguageGenerator::random_dims(size_t most) {
  std::vector<int64_t> dims;
  for (size_t i = below(most + 1); i > 0; --i) dims.push_back(op::pick(extents_, rng_));
  return dims;
}

bool LanguageGenerator::is_small(const std::vector<int64_t>& dims) {
  int64_t elements = 1;
  for (int64_t dim : dims) elements *= std::max<int64_t>(dim, 1);
  return elements <= 1000 && dims.size() <= 5;
}

LanguageGenerator::Type LanguageGenerator::random_type(int depth, bool functions) {
  Type type;
  switch (below(depth > 0 ? 10 : 7)) {
    case 0:
      type.kind = Kind::kShape;
      type.dims = random_dims(3);
      break;
    case 1:
      type.kind = Kind::kPrim;
      type.dtype = DType::kI64;
      type.dims = {rng_.between(-5, 5)};
      break;
    case 7:
    case 8:
      type.kind = Kind::kTuple;
      for (uint32_t i = below(4); i > 0; --i) {
        type.fields.push_back(random_type(depth - 1, functions));
      }
      break;
    case 9:
      if (functions && !functions_.empty()) {
        auto it = functions_.begin();
        std::advance(it, below(functions_.size()));
        return it->second;
      }
      [[fallthrough]];
    default:
      type.dtype =
          chance(0.85)
              ? DType::kF32
              : op::pick(std::vector<DType>{DType::kI32, DType::kBool, DType::kF16, DType::kI64},
                         rng_);
      type.dims = random_dims(3);
  }
  return type;
}

PrimExpr LanguageGenerator::dim(int64_t extent, Scope& scope, bool bind) {
  if (!symbolic_ || extent < 2) return extent;
  auto it = scope.names.find(extent);
  if (it != scope.names.end() && chance(0.9)) return it->second;
  // As an expression of other variables.
  for (const auto& [value, var] : scope.names) {
    if (!chance(0.15)) continue;
    if (value > 0 && extent % value == 0 && chance(0.5)) return var * (extent / value);
    if (extent > value) return var + (extent - value);
    if (value != 0) return floordiv(var * extent, value);
  }
  if (it != scope.names.end()) return it->second;
  if (!bind || chance(0.1)) return extent;
  // The only unknown of a linear dimension.
  if (!scope.names.contains(extent - 1) && chance(0.1)) {
    Var var = symbol("n", extent - 1);
    scope.names.emplace(extent - 1, var);
    return var + 1;
  }
  Var var = symbol("n", extent);
  scope.names.emplace(extent, var);
  return var;
}

Var LanguageGenerator::symbol(const std::string& hint, int64_t value) {
  Var var = make_var(fresh(hint));
  values_[var.get()] = value;
  return var;
}

Dims LanguageGenerator::dims_of(const std::vector<int64_t>& extents, Scope& scope, bool bind) {
  Dims dims;
  for (int64_t extent : extents) dims.push_back(dim(extent, scope, bind));
  return dims;
}

Annotation LanguageGenerator::annotate(const Type& type, Scope& scope, bool bind) {
  switch (type.kind) {
    case Kind::kTensor:
      return relax::tensor_annotation(dims_of(type.dims, scope, bind), type.dtype);
    case Kind::kShape:
      return relax::shape_annotation(dims_of(type.dims, scope, bind));
    case Kind::kPrim:
      if (type.dtype != DType::kI64 || chance(0.4)) return relax::prim_annotation(type.dtype);
      return relax::prim_annotation(DType::kI64, scalar(type.dims[0], scope, bind));
    case Kind::kTuple: {
      std::vector<Annotation> fields;
      for (const Type& field : type.fields) fields.push_back(annotate(field, scope, bind));
      return relax::tuple_annotation(std::move(fields));
    }
    case Kind::kFunction: {
      // Its own symbolic variables.
      Scope own;
      std::vector<Annotation> params;
      for (size_t i = 0; i + 1 < type.fields.size(); ++i) {
        params.push_back(annotate(type.fields[i], own, true));
      }
      Annotation result = annotate(type.fields.back(), own, false);
      if (chance(0.3)) result = relax::object_annotation();
      return relax::callable_annotation(std::move(params), result, type.pure);
    }
  }
  return relax::object_annotation();
}

Annotation LanguageGenerator::coarser(const Annotation& annotation) {
  if (chance(0.15)) return relax::object_annotation();
  if (const auto* tensor = relax::as_tensor(annotation); tensor && chance(0.4)) {
    const int ndim = tensor->shape ? static_cast<int>(tensor->shape->size()) : tensor->ndim;
    return relax::tensor_annotation_ndim(chance(0.7) ? ndim : relax::kUnknownNdim,
                                         chance(0.8) ? tensor->dtype : std::nullopt);
  }
  if (const auto* shape = relax::as_shape(annotation); shape && shape->dims && chance(0.4)) {
    return relax::shape_annotation_ndim(static_cast<int>(shape->dims->size()));
  }
  if (const auto* tuple = relax::as_tuple(annotation)) {
    std::vector<Annotation> fields;
    for (const Annotation& field : tuple->fields) fields.push_back(coarser(field));
    return relax::tuple_annotation(std::move(fields));
  }
  return annotation;
}

Annotation LanguageGenerator::loosely(const Type& type, Scope& scope) {
  const Names before = scope.names;
  Annotation annotation = annotate(type, scope, true);
  if (!chance(0.15)) return annotation;
  const Annotation less = coarser(annotation);
  // The annotation of one part may need a variable that another part would bind.
  std::vector<Var> vars;
  relax::collect_vars(less, vars);
  for (const auto& [extent, var] : scope.names) {
    if (!before.contains(extent) &&
        std::any_of(vars.begin(), vars.end(),
                    [&var = var](const Var& used) { return used.same_as(var); })) {
      return annotation;
    }
  }
  scope.names = before;  // omitted annotations bind nothing
  return less;
}

interp::Value LanguageGenerator::argument(const Type& type) {
  switch (type.kind) {
    case Kind::kTensor: {
      op::GeneratedTensor generated{type.dtype, type.dims, -2, 2};
      if (type.dtype == DType::kBool) generated.low = 0, generated.high = 1;
      return interp::Value::tensor(op::RefTensor::from(op::random_tensor(generated, rng_)));
    }
    case Kind::kShape:
      return interp::Value::shape(type.dims);
    case Kind::kPrim:
      if (type.dtype == DType::kI64) return interp::Value::prim(type.dims[0]);
      return interp::Value::scalar({type.dtype, type.dims[0], 0});
    case Kind::kTuple: {
      interp::ValueList fields;
      for (const Type& field : type.fields) fields.push_back(argument(field));
      return interp::Value::tuple(std::move(fields));
    }
    case Kind::kFunction:
      for (const auto& [name, known] : functions_) {
        if (known == type) return interp::Value::function(name);
      }
  }
  throw_internal("no such argument");
}

void LanguageGenerator::give(Scope& scope, const Variable& param, const Type& type) {
  Elements elements;
  scope.params->push_back(param);
  if (scope.arguments) {
    scope.arguments->push_back(argument(type));
    if (type.kind == Kind::kTensor) {
      elements = std::make_shared<op::RefTensor>(scope.arguments->back().as_tensor());
    }
  } else if (writes_parameters_ && type.kind == Kind::kTensor && type.dtype == DType::kF32) {
    scope.written.push_back({param, type, false});
  }
  scope.values.push_back({param, type, true, std::move(elements)});
}

Variable LanguageGenerator::bind(Scope& scope, Expr value, const std::string& hint,
                                 Annotation match_cast) {
  Annotation annotation = match_cast ? match_cast : build::annotation_of_value(value, module_);
  if (!match_cast && chance(0.04) && value->kind == relax::ExprKind::kCall) {
    annotation = coarser(annotation);
  }
  const bool hidden = scope.dataflow && chance(0.6);
  Variable var = relax::make_variable(fresh(hint), std::move(annotation), hidden);
  if (scope.blocks.empty() || scope.blocks.back().dataflow != scope.dataflow) {
    scope.blocks.push_back({scope.dataflow, {}});
  }
  Origin origin;
  if (chance(0.05)) {
    origin = {"layers." + std::to_string(below(3))};
    origin.lines = {"block.cpp:" + std::to_string(scope.blocks.size())};
  }
  scope.blocks.back().bindings.push_back({var, std::move(value), std::move(match_cast), origin});
  return var;
}

void LanguageGenerator::keep(Scope& scope, Expr value, std::optional<Type> type, bool given) {
  if (type && type->kind == Kind::kTensor && !is_small(type->dims)) return;
  Known known{std::move(value), std::move(type), given};
  const auto* var = relax::as<relax::VarNode>(known.value);
  (var && var->dataflow ? scope.hidden : scope.values).push_back(std::move(known));
}

std::optional<LanguageGenerator::Type> LanguageGenerator::type_of(const Annotation& annotation) {
  Type type;
  auto evaluate = [&](const Dims& dims) {
    for (const PrimExpr& dim : dims) {
      auto extent = arith::evaluate(dim, values_);
      if (!extent || *extent < 0) return false;
      type.dims.push_back(*extent);
    }
    return true;
  };
  if (const auto* tensor = relax::as_tensor(annotation)) {
    if (!tensor->shape || !tensor->dtype || !evaluate(*tensor->shape)) return std::nullopt;
    type.dtype = *tensor->dtype;
    return type;
  }
  if (const auto* shape = relax::as_shape(annotation)) {
    type.kind = Kind::kShape;
    if (!shape->dims || !evaluate(*shape->dims)) return std::nullopt;
    return type;
  }
  if (const auto* tuple = relax::as_tuple(annotation)) {
    type.kind = Kind::kTuple;
    for (const Annotation& field : tuple->fields) {
      auto known = type_of(field);
      if (!known) return std::nullopt;
      type.fields.push_back(std::move(*known));
    }
    return type;
  }
  return std::nullopt;
}

Expr LanguageGenerator::constant(const Type& type) {
  op::GeneratedTensor generated{type.dtype, type.dims, -2, 2};
  if (type.dtype == DType::kBool) generated.low = 0, generated.high = 1;
  return relax::make_constant(op::random_tensor(generated, rng_));
}

Expr LanguageGenerator::value_of(const Type& type, Scope& scope, bool fresh_one) {
  std::vector<const Known*> fitting;
  for (const auto* list : {&scope.values, &scope.hidden}) {
    for (const Known& known : *list) {
      if (known.type && *known.type == type) fitting.push_back(&known);
    }
  }
  if (!fitting.empty() && !fresh_one && chance(0.85)) return op::pick(fitting, rng_)->value;
  switch (type.kind) {
    case Kind::kTensor: {
      const bool is_static = !symbolic_ || std::all_of(type.dims.begin(), type.dims.end(),
                                                       [](int64_t dim) { return dim < 2; });
      if (scope.growable && chance(0.5)) {
        // Variables that a match_cast in the body binds are not available yet.
        std::vector<Var> bound;
        for (const Variable& param : *scope.params) relax::collect_vars(param->annotation, bound);
        Scope signature;
        for (const auto& [extent, var] : scope.names) {
          if (std::any_of(bound.begin(), bound.end(),
                          [&var = var](const Var& other) { return other.same_as(var); })) {
            signature.names.emplace(extent, var);
          }
        }
        Variable param = relax::make_variable(fresh("p"), annotate(type, signature, true));
        scope.names.insert(signature.names.begin(), signature.names.end());
        give(scope, param, type);
        return param;
      }
      if (is_static && chance(0.7)) return constant(type);
      AttrMap attrs{{"dtype", type.dtype}, {"value", static_cast<double>(below(3))}};
      return bind(scope,
                  relax::make_op_call("full", {relax::make_shape(dims_of(type.dims, scope, false))},
                                      std::move(attrs)),
                  "full");
    }
    case Kind::kShape:
      return relax::make_shape(dims_of(type.dims, scope, false));
    case Kind::kPrim:
      if (type.dtype == DType::kBool) return relax::make_prim_value(make_bool(type.dims[0] != 0));
      return relax::make_prim_value(scalar(type.dims[0], scope, false));
    case Kind::kTuple: {
      std::vector<Expr> fields;
      for (const Type& field : type.fields) {
        fields.push_back(value_of(field, scope));
        if (!fields.back()) return nullptr;
      }
      return relax::make_tuple(std::move(fields));
    }
    case Kind::kFunction:
      for (const auto& [name, known] : functions_) {
        if (known == type) return relax::make_global(name);
      }
      return fitting.empty() ? nullptr : op::pick(fitting, rng_)->value;
  }
  return nullptr;
}

}  // namespace tapml::fuzz
