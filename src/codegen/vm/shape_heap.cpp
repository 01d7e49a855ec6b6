#include "codegen/vm/shape_heap.h"

#include <algorithm>
#include <utility>

#include "arith/analyzer.h"
#include "arith/broadcast_dim.h"
#include "arith/scalar_program.h"
#include "ir/exceptions.h"
#include "relax/check_location.h"
#include "relax/memory.h"

namespace tapml::codegen {

using namespace relax;  // NOLINT: this file is about relax alone

// A dimension that cannot be compared yet; its actual value is in a separate slot.
struct ShapeHeap::Open {
  PrimExpr expected;
  Var found;
  bool is_dimension;
};

bool ShapeHeap::ByCode::operator()(const ScalarProgram& a, const ScalarProgram& b) const {
  return std::lexicographical_compare(a.code.begin(), a.code.end(), b.code.begin(), b.code.end(),
                                      [](const ScalarInst& x, const ScalarInst& y) {
                                        return std::pair(x.op, x.operand) <
                                               std::pair(y.op, y.operand);
                                      });
}

int32_t ShapeHeap::find(const Var& var) const {
  auto it = slots_.find(var.get());
  return it == slots_.end() ? -1 : it->second;
}

ShapeHeap::ShapeHeap(VmFunction& out, const Function& function)
    : out_(out), bounds_(function.facts.bounds), sources_(symbol_sources(function)) {}

int64_t ShapeHeap::most(const Var& var) const {
  const auto bound = bounds_.find(var->name);
  return bound == bounds_.end() ? -1 : bound->second;
}

int32_t ShapeHeap::define(const Var& var) {
  const auto slot = static_cast<int32_t>(defined_.size());
  slots_[var.get()] = slot;
  defined_.push_back(var);
  out_.slots = slot + 1;
  if (auto source = sources_.find(var.get()); source != sources_.end()) {
    out_.sources.resize(defined_.size());
    out_.sources.back() = source->second;
  }
  return slot;
}

void ShapeHeap::forget(size_t mark) {
  for (size_t i = mark; i < defined_.size(); ++i) slots_.erase(defined_[i].get());
}

std::vector<Var> ShapeHeap::unknown(const PrimExpr& expr) const {
  std::vector<Var> vars;
  for (const Var& var : free_vars(expr)) {
    if (find(var) < 0) vars.push_back(var);
  }
  return vars;
}

ScalarProgram ShapeHeap::scalar_program(const PrimExpr& expr) {
  for (const Var& var : unknown(expr)) {
    throw_user("symbolic variable " + var->name + " has no value at this point",
               "function " + out_.name, "a parameter or match_cast that has it as a dimension",
               to_string(expr));
  }
  return arith::compile_scalar(expr, [&](const Var& var) { return find(var); });
}

int32_t ShapeHeap::program(const PrimExpr& expr) {
  const auto next = static_cast<int32_t>(out_.programs.size());
  auto [known, is_new] = programs_.try_emplace(scalar_program(expr), next);
  if (is_new) out_.programs.push_back(known->first);
  return known->second;
}

std::vector<int32_t> ShapeHeap::programs(const Dims& dims) {
  std::vector<int32_t> list;
  for (const PrimExpr& dim : dims) list.push_back(program(dim));
  return list;
}

int32_t ShapeHeap::layout(DType dtype, const Dims& dims, const PrimExpr& offset) {
  out_.layouts.push_back({dtype, programs(dims), offset ? program(offset) : -1});
  return static_cast<int32_t>(out_.layouts.size() - 1);
}

void ShapeHeap::fill_dims(ValueCheck& result, const Dims& dims, std::vector<Open>& open) {
  result.has_dims = true;
  for (const PrimExpr& dim : dims) {
    DimCheck one;
    one.expression = arith::dim_text(dim);
    if (dim.is_var() && find(dim) < 0) {
      one.define_slot = define(dim);
      one.most = most(dim);
    } else if (unknown(dim).empty()) {
      one.equals = scalar_program(dim);
    } else {
      open.push_back({dim, make_var("found"), result.kind == ValueCheck::Kind::kTensor});
      one.define_slot = define(open.back().found);
    }
    result.dims.push_back(std::move(one));
  }
}

ValueCheck ShapeHeap::value_check(const Annotation& annotation, const std::string& where,
                                  std::vector<Open>& open) {
  ValueCheck result;
  result.where = where;
  if (const auto* tensor = as_tensor(annotation)) {
    result.kind = ValueCheck::Kind::kTensor;
    result.has_dtype = tensor->dtype.has_value();
    if (tensor->dtype) result.dtype = *tensor->dtype;
    result.ndim = tensor->ndim;
    if (tensor->shape) fill_dims(result, *tensor->shape, open);
  } else if (const auto* shape = as_shape(annotation)) {
    result.kind = ValueCheck::Kind::kShape;
    result.ndim = shape->ndim;
    if (shape->dims) fill_dims(result, *shape->dims, open);
  } else if (const auto* prim = as_prim(annotation)) {
    result.kind = ValueCheck::Kind::kPrim;
    result.has_dtype = true;
    result.dtype = prim->dtype;
    if (prim->value) fill_dims(result, {prim->value}, open);
  } else if (const auto* callable = as_callable(annotation)) {
    result.kind = ValueCheck::Kind::kCallable;
    result.ndim = static_cast<int32_t>(callable->params.size());
  } else if (const auto* tuple = as_tuple(annotation)) {
    result.kind = ValueCheck::Kind::kTuple;
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      result.fields.push_back(
          value_check(tuple->fields[i], where + ", field " + std::to_string(i), open));
    }
  }
  return result;
}

void ShapeHeap::emit_check(int32_t reg, ValueCheck check) {
  if (check.kind == ValueCheck::Kind::kAny) return;
  out_.checks.push_back(std::move(check));
  emit({.op = Opcode::kCheck, .a = reg, .b = static_cast<int32_t>(out_.checks.size() - 1)});
}

// Assigns a slot to the one unknown variable of a dimension, if the dimension is a*v + b.
bool ShapeHeap::solve(const Open& open) {
  std::vector<Var> vars = unknown(open.expected);
  if (vars.size() != 1 || vars[0].dtype() != DType::kI64) return false;
  const Var& var = vars[0];
  arith::Analyzer analyzer;
  auto at = [&](int64_t value) {
    VarMap values{{var.get(), PrimExpr(value)}};
    return tapml::substitute(open.expected, values);
  };
  PrimExpr offset = analyzer.simplify(at(0));
  std::optional<int64_t> factor = analyzer.as_constant(at(1) - offset);
  if (!factor || *factor == 0 || !analyzer.prove_equal(open.expected, var * *factor + offset)) {
    return false;
  }
  PrimExpr value = floordiv(open.found - offset, *factor);
  // A tensor's dimension is never negative; if the computed value is, the whole check fails.
  if (open.is_dimension) value = max(value, 0);
  Instruction compute{.op = Opcode::kComputeSlot, .b = program(value)};
  if (most(var) >= 0) compute.c = program(most(var)) + 1;
  compute.a = define(var);
  emit(std::move(compute));
  return true;
}

void ShapeHeap::check(const std::vector<CheckedValue>& values) {
  std::vector<Open> open;
  std::vector<const CheckedValue*> again;
  for (const CheckedValue& value : values) {
    size_t before = open.size();
    emit_check(value.reg, value_check(value.annotation, value.where, open));
    if (open.size() > before) again.push_back(&value);
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (const Open& one : open) progress |= !unknown(one.expected).empty() && solve(one);
  }
  for (const CheckedValue* value : again) check_known(*value);
}

void ShapeHeap::check_known(const CheckedValue& value) {
  const int32_t check = later_check(value.annotation, value.where);
  if (check >= 0) emit({.op = Opcode::kCheck, .a = value.reg, .b = check});
}

int32_t ShapeHeap::later_check(const Annotation& annotation, const std::string& where) {
  std::vector<Open> open;
  ValueCheck check = value_check(annotation, where, open);
  // Reports the variable that no dimension determines.
  for (const Open& one : open) scalar_program(one.expected);
  if (check.kind == ValueCheck::Kind::kAny) return -1;
  out_.checks.push_back(std::move(check));
  return static_cast<int32_t>(out_.checks.size() - 1);
}

}  // namespace tapml::codegen
