#include "fuzz/campaign/value_text.h"

#include "arith/evaluate.h"
#include "ir/exceptions.h"
#include "relax/visit.h"

namespace tapml::fuzz {

namespace {

using relax::Expr;

Expr literal(const interp::Value& value) {
  if (const auto* tensor = std::get_if<op::RefTensor>(&value.data)) {
    return relax::make_constant(tensor->to_host());
  }
  if (const auto* shape = std::get_if<std::vector<int64_t>>(&value.data)) {
    return relax::make_shape(Dims(shape->begin(), shape->end()));
  }
  if (const auto* number = std::get_if<int64_t>(&value.data)) {
    return relax::make_prim_value(PrimExpr(*number));
  }
  if (const auto* scalar = std::get_if<interp::Scalar>(&value.data)) {
    if (scalar->dtype == DType::kBool)
      return relax::make_prim_value(make_bool(scalar->integer != 0));
    if (is_float(scalar->dtype))
      return relax::make_prim_value(make_float(scalar->number, scalar->dtype));
    return relax::make_prim_value(make_int(scalar->integer, scalar->dtype));
  }
  if (const auto* function = std::get_if<interp::FunctionValue>(&value.data)) {
    if (function->closure) throw_internal("a closure has no text");
    return relax::make_global(function->name);
  }
  std::vector<Expr> fields;
  for (const interp::Value& field : value.as_tuple()) fields.push_back(literal(field));
  return relax::make_tuple(std::move(fields));
}

interp::Value value_of(const Expr& expr, const std::string& source) {
  if (const auto* constant = relax::as<relax::ConstantNode>(expr)) {
    return interp::Value::tensor(op::RefTensor::from(constant->value));
  }
  if (const auto* shape = relax::as<relax::ShapeNode>(expr)) {
    std::vector<int64_t> dims;
    for (const PrimExpr& dim : shape->dims) dims.push_back(arith::evaluate(dim, {}).value_or(0));
    return interp::Value::shape(std::move(dims));
  }
  if (const auto* prim = relax::as<relax::PrimValueNode>(expr)) {
    const DType dtype = prim->value.dtype();
    if (is_float(dtype)) return interp::Value::scalar({dtype, 0, prim->value->float_value});
    const int64_t value = arith::evaluate(prim->value, {}).value_or(0);
    if (dtype == DType::kI64) return interp::Value::prim(value);
    return interp::Value::scalar({dtype, value, 0});
  }
  if (const auto* global = relax::as<relax::GlobalVarNode>(expr)) {
    return interp::Value::function(global->name);
  }
  const auto* tuple = relax::as<relax::TupleNode>(expr);
  if (!tuple)
    throw_user("an input is no literal", source, "const, shape, prim, @function or a tuple");
  interp::ValueList fields;
  for (const Expr& field : tuple->fields) fields.push_back(value_of(field, source));
  return interp::Value::tuple(std::move(fields));
}

}  // namespace

Module values_module(const std::vector<interp::Value>& values) {
  std::vector<Expr> fields;
  for (const interp::Value& value : values) fields.push_back(literal(value));
  Module module;
  module.functions["inputs"] = relax::make_function(
      {}, relax::make_seq({}, relax::make_tuple(std::move(fields))), relax::object_annotation());
  return module;
}

std::vector<interp::Value> values_of(const Module& module, const std::string& source) {
  const auto* function = relax::as_relax_function(module.find("inputs"));
  const auto* tuple =
      function ? relax::as<relax::TupleNode>(relax::body_of(*function).result) : nullptr;
  if (!tuple) throw_user("there are no inputs", source, "def inputs() that returns a tuple");
  std::vector<interp::Value> values;
  for (const Expr& field : tuple->fields) values.push_back(value_of(field, source));
  return values;
}

}  // namespace tapml::fuzz
