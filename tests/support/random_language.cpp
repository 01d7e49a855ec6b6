#include "support/random_language.h"

#include <algorithm>

#include "build/annotations.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "passes/legalize.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::testing {

using relax::Annotation;
using relax::Expr;
using relax::Variable;

namespace {

// Tensor programs that a person wrote; one parameter, one output.
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
prim def hand_bump(inout x: Buffer((n, m), f32), n: i64, m: i64) {
  for i in serial(n) { for j in serial(m) { x[i, j] = x[i, j] + f32(2.0) } } }
)";

}  // namespace

LanguageGenerator::LanguageGenerator(uint64_t seed, LanguageOptions options)
    : rng_(seed, "language"), options_(options), symbolic_(rng_.chance(0.6)) {
  extents_ = {1, static_cast<int64_t>(2 + below(3)), static_cast<int64_t>(5 + below(4))};
  if (chance(0.04)) extents_.push_back(0);
}

Expr LanguageGenerator::condition(Scope& scope) {
  if (chance(0.5)) {
    for (const Known& known : scope.values) {
      if (known.given && known.type && known.type->kind == Kind::kTensor &&
          known.type->dtype == DType::kBool && known.type->dims.empty()) {
        return known.value;
      }
    }
    if (scope.growable) return value_of({Kind::kTensor, DType::kBool, {}, {}, true}, scope, true);
  }
  PrimExpr left = scope.names.empty() ? PrimExpr(static_cast<int64_t>(below(3)))
                                      : PrimExpr(scope.names.begin()->second);
  return relax::make_prim_value(lt(left, static_cast<int64_t>(below(5))));
}

LanguageGenerator::Scope LanguageGenerator::inner(const Scope& outer) const {
  Scope scope;
  scope.values = outer.values;
  scope.values.insert(scope.values.end(), outer.hidden.begin(), outer.hidden.end());
  scope.names = outer.names;
  scope.pure = outer.pure;
  return scope;
}

void LanguageGenerator::toggle_dataflow(Scope& scope) {
  scope.dataflow = !scope.dataflow;
  scope.hidden.clear();
  scope.blocks.push_back({scope.dataflow, {}});
}

Expr LanguageGenerator::close(Scope& scope, const Expr& result) {
  std::erase_if(scope.blocks, [](const relax::Block& block) { return block.bindings.empty(); });
  return relax::make_seq(scope.blocks, result);
}

bool LanguageGenerator::call_operator(Scope& scope) {
  const auto table = op::operator_table();
  const op::OperatorInfo& info = *table[below(table.size())];
  // What is updated in place must not be read again; what depends on data has its own construct.
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
        // Integers have meaning: indices.
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
  // Whether deduction and legalization take it with these annotations.
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
    // Dimensions may be expressions only behind variables of their own.
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
  const uint32_t which = below(4);
  const char* name =
      std::vector<const char*>{"hand_scale", "hand_rows", "hand_reverse", "hand_bump"}[which];
  Type type{Kind::kTensor, DType::kF32, {}, {}, true};
  for (int i = which == 2 ? 1 : 2; i > 0; --i) type.dims.push_back(op::pick(extents_, rng_));
  Expr value = value_of(type, scope);
  AttrMap attrs;
  if (which == 3) {  // what is consumed is read by nothing else
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
  Expr call = relax::make_op_call(which == 3 ? "call_tir_inplace" : "call_tir",
                                  {relax::make_global(name), relax::make_tuple({value})}, attrs,
                                  {relax::tensor_annotation(dims, DType::kF32)});
  keep(scope, bind(scope, call, "hand"), made);
  return true;
}

bool LanguageGenerator::write(Scope& scope) {
  if (!options_.storage || scope.pure || scope.dataflow) return false;
  Type type{
      Kind::kTensor, DType::kF32, {op::pick(extents_, rng_), op::pick(extents_, rng_)}, {}, true};
  Expr value = value_of(type, scope);
  Variable own = bind(scope, relax::make_op_call("copy", {value}), "own");
  Type seen = type;
  Expr view;
  if (chance(0.5)) {
    std::swap(seen.dims[0], seen.dims[1]);
    view = bind(
        scope, relax::make_op_call("view_transpose", {own}, {{"axes", std::vector<int64_t>{1, 0}}}),
        "view");
  } else {
    seen.dims = {type.dims[0] * type.dims[1]};
    view = bind(scope,
                relax::make_op_call("view_reshape",
                                    {own, relax::make_shape(dims_of(seen.dims, scope, false))}),
                "view");
  }
  Expr source = value_of(seen, scope);
  bind(scope, relax::make_op_call("assign", {view, source}), "w");
  keep(scope, own, type);
  if (chance(0.5)) keep(scope, view, seen);
  return true;
}

bool LanguageGenerator::depends_on_data(Scope& scope) {
  if (scope.dataflow) return false;
  if (chance(0.3)) {  // a tensor read as a shape
    std::vector<int64_t> dims = {op::pick(extents_, rng_), op::pick(extents_, rng_)};
    HostTensor sizes = HostTensor::from<int64_t>(DType::kI64, {2}, dims);
    Variable shape =
        bind(scope, relax::make_op_call(op::kTensorToShape, {relax::make_constant(sizes)}), "read");
    Type type{Kind::kShape, DType::kI64, dims, {}, true};
    keep(scope, shape, type);
    keep(scope, bind(scope, shape, "cast", annotate(type, scope, true)), type);
    return true;
  }
  for (const Known& known : scope.values) {
    if (!known.given || !known.type || known.type->kind != Kind::kTensor || chance(0.5)) continue;
    if (known.type->dims.size() != 1 || known.type->dtype != DType::kF32) continue;
    Variable found = bind(scope, relax::make_op_call("nonzero", {known.value}), "found");
    const auto* tensor = relax::as_tensor(found->annotation);
    if (!tensor || !tensor->dtype) return true;
    Dims dims;
    for (int d = 0; d < tensor->ndim; ++d) {
      dims.push_back(tensor->shape ? (*tensor->shape)[static_cast<size_t>(d)]
                                   : PrimExpr(make_var(fresh("k"))));
    }
    Variable cast = bind(scope, found, "cast", relax::tensor_annotation(dims, tensor->dtype));
    Variable made = bind(scope, relax::make_op_call("abs", {cast}), "made");
    scope.values.push_back({made, std::nullopt, false});
    return true;
  }
  return false;
}

void LanguageGenerator::grow(Scope& scope, int depth) {
  for (int attempts = 0; attempts < 20; ++attempts) {
    bool made = false;
    // What deduction refuses is another attempt.
    auto attempt = guard([&] { made = grow_once(scope, depth); });
    if (!attempt && attempt.error().kind != ErrorKind::kUser) throw_error(attempt.error());
    if (made) return;
  }
}

bool LanguageGenerator::grow_once(Scope& scope, int depth) {
  bool made = false;
  switch (below(24)) {
    case 0:
      toggle_dataflow(scope);
      break;
    case 1:
      made = call_function(scope);
      break;
    case 2:
      made = call_value(scope);
      break;
    case 3:
      made = make_tuple(scope);
      break;
    case 4:
    case 5:
      made = take_field(scope);
      break;
    case 6:
      made = cast(scope);
      break;
    case 7:
    case 8:
      made = branch(scope, depth);
      break;
    case 9:
    case 10:
      made = lambda(scope, depth);
      break;
    case 11:
      made = loop(scope, depth);
      break;
    case 12:
      made = packed(scope);
      break;
    case 13:
      made = program(scope);
      break;
    case 14:
      made = write(scope);
      break;
    case 15:
      made = depends_on_data(scope);
      break;
    case 16: {
      Type type = random_type(1, true);
      if (Expr value = value_of(type, scope, true)) {
        keep(scope, bind(scope, value, "v"), type);
        made = true;
      }
      break;
    }
    default:
      made = call_operator(scope);
  }
  return made;
}

// A function that counts down and calls itself, not last.
void LanguageGenerator::add_recursive() {
  const char* kText = R"(module
def count_down(times: Prim(i64, k), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = if (prim(k <= 0)) {
    yield x
  } else {
    a: Tensor((n,), f32) = @count_down(prim(k - 1), x)
    b: Tensor((n,), f32) = add(a, x)
    yield b
  }
  return y
})";
  static const Module kModule = text::parse(kText, "recursive");
  module_.functions["count_down"] = kModule.functions.at("count_down");
  Type vector{Kind::kTensor, DType::kF32, {op::pick(extents_, rng_)}, {}, true};
  Type times{Kind::kPrim, DType::kI64, {static_cast<int64_t>(below(4))}, {}, true};
  functions_["count_down"] = {Kind::kFunction, DType::kF32, {}, {times, vector, vector}, true};
}

RandomLanguageProgram LanguageGenerator::make(int size) {
  if (chance(0.3)) add_recursive();
  for (uint32_t i = below(3); i > 0; --i) {
    Scope scope;
    scope.pure = chance(0.7);
    scope.growable = true;
    std::vector<Type> params;
    for (uint32_t p = below(4); p > 0; --p) params.push_back(random_type(2, true));
    Type type;
    const std::string name = fresh("helper");
    relax::FunctionRef made;
    auto attempt = guard([&] {
      made = function(params, std::nullopt, std::move(scope), 1 + size / 2, 2, type, nullptr);
    });
    if (!attempt && attempt.error().kind != ErrorKind::kUser) throw_error(attempt.error());
    if (!attempt || !made) continue;
    module_.functions[name] = made;
    functions_[name] = type;
  }
  RandomLanguageProgram program;
  for (;;) {
    Scope scope;
    scope.pure = chance(0.5);
    scope.growable = true;
    std::vector<Type> params = {{Kind::kTensor, DType::kF32, random_dims(3), {}, true}};
    for (uint32_t p = below(3); p > 0; --p) params.push_back(random_type(2, true));
    Type type;
    program.arguments.clear();
    relax::FunctionRef main;
    auto attempt = guard([&] {
      main = function(params, std::nullopt, std::move(scope), size, 2, type, &program.arguments);
    });
    if (!attempt && attempt.error().kind != ErrorKind::kUser) throw_error(attempt.error());
    if (!attempt || !main) continue;
    module_.functions["main"] = main;
    break;
  }
  // Printed and read: annotations of functions then have symbolic variables of their own.
  text::SideTensors constants;
  const std::string text = text::print(module_, &constants);
  program.module = text::parse(text, "generated", {.side = &constants});
  return program;
}

}  // namespace tapml::testing
