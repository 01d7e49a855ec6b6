#include "build/block_builder.h"
#include "fuzz/language/language.h"
#include "ir/exceptions.h"
#include "passes/legalize.h"
#include "text/parser.h"

namespace tapml::fuzz {

using relax::Annotation;
using relax::Expr;
using relax::Variable;

namespace {

// Hand-written tensor programs with one parameter and one output.
constexpr const char* kPrograms = R"(module
prim def hand_scale(x: Buffer((n, m), f32), out y: Buffer((n, m), f32), n: i64, m: i64) {
  for i in parallel(n) { for j in serial(m) {
    block "scale" (vi: spatial(n) = i, vj: spatial(m) = j) {
      reads x[vi, vj] writes y[vi, vj]
      y[vi, vj] = x[vi, vj] * f32(0.5) + f32(1.0)
    } } } }
prim def hand_rows(x: Buffer((n, m), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  for i in parallel(n) { for j in serial(m) {
    block "rows" (vi: spatial(n) = i, vj: reduce(m) = j) {
      reads x[vi, vj] writes y[vi]
      init { y[vi] = f32(0.0) }
      y[vi] = y[vi] + x[vi, vj]
    } } } }
prim def hand_reverse(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
  for i in serial(n) { y[n - 1 - i] = select(i % 2 == 0, x[i], f32(-1.0) * x[i]) } }
prim def hand_shift(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64, k: i64) {
  for i in parallel(n) {
    y[i] = select(k < 0, x[(i + k) % n], x[max(min(i*2 - k, n - 1), 0)])
  }
  for j in serial(min(k, n)) { y[(j + k) % n] = f32(3.0) } }
prim def hand_repeat(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64, k: i64) {
  for i in serial(n) { for j in serial(k) {
    block "repeat" (vi: spatial(n) = i, vj: reduce(k) = j) {
      reads x[0 +: n] writes y[vi]
      init { y[vi] = x[vi] }
      y[vi] = y[vi] + x[(vi + vj) % n]
    } } } }
prim def hand_bump(inout x: Buffer((n, m), f32), n: i64, m: i64) {
  for i in serial(n) { for j in serial(m) { x[i, j] = x[i, j] + f32(2.0) } } }
)";

// Operators with library routines (docs/libraries.md), and those that routines accept after a
// product.
const std::vector<const char*> kLibraryOperators = {"matmul",     "matmul", "linear", "softmax",
                                                    "layer_norm", "conv1d", "conv2d", "add",
                                                    "relu",       "silu",   "tanh"};

}  // namespace

bool LanguageGenerator::call_operator(Scope& scope) {
  const auto table = op::operator_table();
  const op::OperatorInfo& info = chance(0.3) ? *op::find_operator(op::pick(kLibraryOperators, rng_))
                                             : *table[below(table.size())];
  // Tensors updated in place must not be read again; data-dependent operators have their own
  // construct.
  if (!info.inout.empty() || !info.pure) return false;
  if (std::string_view(info.name) == "unique" || std::string_view(info.name) == "nonzero") {
    return false;
  }
  std::vector<const Known*> tensors;
  for (const auto* list : {&scope.values, &scope.hidden}) {
    for (const Known& known : *list) {
      if (known.type && known.type->kind == Kind::kTensor) tensors.push_back(&known);
    }
  }
  const bool creates = info.generator.ranks.empty();
  op::GeneratedCall call;
  Expr first;
  if (creates) {
    if (!op::generate_call(info, op::pick(info.generator.dtypes, rng_), extents_, rng_, call)) {
      return false;
    }
  } else {
    if (tensors.empty()) return false;
    const Known& known = chance(0.5) ? *tensors.back() : *op::pick(tensors, rng_);
    first = known.value;
    op::GeneratedTensor type{known.type->dtype, known.type->dims, info.generator.low,
                             info.generator.high};
    if (!op::generate_call_of(info, type, rng_, call)) return false;
  }
  std::vector<Expr> args;
  for (size_t i = 0; i < call.args.size(); ++i) {
    std::vector<Expr> parts;
    for (const op::GeneratedTensor& type : call.args[i].tensors) {
      if (i == 0 && parts.empty() && !creates) {
        parts.push_back(first);
      } else if (is_float(type.dtype)) {
        parts.push_back(value_of({Kind::kTensor, type.dtype, type.shape, {}, true}, scope));
      } else {
        // Integers have meaning: they are indices.
        parts.push_back(relax::make_constant(op::random_tensor(type, rng_)));
      }
    }
    switch (info.args[i].kind) {
      case op::ArgumentKind::kTensor:
        args.push_back(parts.at(0));
        break;
      case op::ArgumentKind::kTensors:
        args.push_back(relax::make_tuple(parts));
        break;
      case op::ArgumentKind::kShape:
        args.push_back(value_of({Kind::kShape, DType::kI64, call.args[i].ints, {}, true}, scope));
        break;
      case op::ArgumentKind::kPrim:
        args.push_back(relax::make_prim_value(dim(call.args[i].ints.at(0), scope, false)));
        break;
    }
  }
  Expr value = relax::make_op_call(info.name, args, call.attrs);
  // Whether deduction and legalization accept it with these annotations.
  Annotation annotation;
  auto accepted = guard([&] {
    annotation = build::annotation_of_value(value, module_);
    if (!type_of(annotation)) throw_user("a shape that depends on data");
    Module alone;
    build::FunctionBuilder f(alone);
    std::vector<Expr> stand_ins;
    auto stand_in = [&](const Expr& arg) -> Expr {
      const auto* var = relax::as<relax::VarNode>(arg);
      return var ? Expr(f.param(var->name, var->annotation)) : arg;
    };
    // Dimensions may be expressions only after their variables are bound.
    std::vector<Var> vars;
    for (const Expr& arg : args) {
      relax::collect_vars(build::annotation_of_operand(arg, module_), vars);
    }
    for (const Var& var : vars) {
      f.param("symbol", relax::prim_annotation(DType::kI64, var));
    }
    for (const Expr& arg : args) {
      if (const auto* tuple = relax::as<relax::TupleNode>(arg)) {
        std::vector<Expr> fields;
        for (const Expr& field : tuple->fields) fields.push_back(stand_in(field));
        stand_ins.push_back(relax::make_tuple(fields));
      } else {
        stand_ins.push_back(stand_in(arg));
      }
    }
    Variable result = f.emit_op(info.name, stand_ins, call.attrs);
    alone.functions["main"] = f.finish(result);
    passes::legalize(alone);
  });
  if (!accepted) {
    if (accepted.error().kind != ErrorKind::kUser) throw_error(accepted.error());
    return false;
  }
  Variable result = bind(scope, value, info.name);
  keep(scope, result, type_of(result->annotation));
  return true;
}

bool LanguageGenerator::packed(Scope& scope) {
  if (!options_.packed || scope.pure || scope.dataflow) return false;
  Type type{Kind::kTensor, DType::kF32, random_dims(2), {}, true};
  Expr value = value_of(type, scope);
  std::vector<Annotation> annotations;
  if (chance(0.8)) annotations.push_back(annotate(type, scope, false));
  Expr call = relax::make_call(relax::make_extern("test.double"), {value}, {}, annotations);
  keep(scope, bind(scope, call, "packed"), type);
  return true;
}

bool LanguageGenerator::program(Scope& scope) {
  static const Module kModule = text::parse(kPrograms, "programs");
  uint32_t which = below(10);
  if (which >= 6) which = 4 + which % 2;
  const char* name = std::vector<const char*>{"hand_scale", "hand_rows",  "hand_reverse",
                                              "hand_bump",  "hand_shift", "hand_repeat"}[which];
  const bool by_scalar = which >= 4;
  Type type{Kind::kTensor, DType::kF32, {}, {}, true};
  for (int i = which == 2 || by_scalar ? 1 : 2; i > 0; --i)
    type.dims.push_back(op::pick(extents_, rng_));
  Expr value = value_of(type, scope);
  AttrMap attrs;
  if (which == 3) {  // consumed values have no other reader
    Variable own = bind(scope, relax::make_op_call("negative", {value}), "own");
    value = own;
    attrs["inout_indices"] = std::vector<int64_t>{0};
  }
  const auto* var = relax::as<relax::VarNode>(value);
  const auto* tensor = var ? relax::as_tensor(var->annotation) : nullptr;
  if (!tensor || !tensor->shape) return false;
  Type made = type;
  Dims dims = *tensor->shape;
  if (which == 1) {
    dims.pop_back();
    made.dims.pop_back();
  }
  module_.functions[name] = kModule.functions.at(name);
  std::vector<Expr> args = {relax::make_global(name), relax::make_tuple({value})};
  if (by_scalar) {
    const bool known = scope.names.empty() || chance(0.3);
    args.push_back(relax::make_shape({known ? PrimExpr(rng_.between(-4, 4)) : index(scope)}));
  }
  Expr call = relax::make_op_call(which == 3 ? "call_tir_inplace" : "call_tir", std::move(args),
                                  attrs, {relax::tensor_annotation(dims, DType::kF32)});
  keep(scope, bind(scope, call, "hand"), made);
  return true;
}

}  // namespace tapml::fuzz
