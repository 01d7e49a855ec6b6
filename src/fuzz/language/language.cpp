#include "fuzz/language/language.h"

#include <algorithm>

#include "build/annotations.h"
#include "build/block_builder.h"
#include "fuzz/language/library_functions.h"
#include "fuzz/language/patterns.h"
#include "ir/exceptions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {

using relax::Annotation;
using relax::Expr;
using relax::Variable;

LanguageGenerator::LanguageGenerator(uint64_t seed, LanguageOptions options)
    : rng_(seed, "language"),
      options_(options),
      symbolic_(rng_.chance(0.6)),
      writes_parameters_(rng_.chance(0.2)) {
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
  PrimExpr left =
      scope.names.empty() ? PrimExpr(static_cast<int64_t>(below(3))) : PrimExpr(index(scope));
  return relax::make_prim_value(lt(left, rng_.between(-3, 4)));
}

LanguageGenerator::Scope LanguageGenerator::inner(const Scope& outer) const {
  Scope scope;
  scope.values = outer.values;
  scope.values.insert(scope.values.end(), outer.hidden.begin(), outer.hidden.end());
  scope.names = outer.names;
  scope.written = outer.written;
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

void LanguageGenerator::grow(Scope& scope, int depth) {
  for (int attempts = 0; attempts < 20; ++attempts) {
    bool made = false;
    // If deduction refuses the call, another attempt follows.
    auto attempt = guard([&] { made = grow_once(scope, depth); });
    if (!attempt && attempt.error().kind != ErrorKind::kUser) throw_error(attempt.error());
    if (made) return;
  }
}

bool LanguageGenerator::grow_once(Scope& scope, int depth) {
  bool made = false;
  switch (below(28)) {
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
    case 15:
      made = write(scope);
      break;
    case 16:
    case 17:
      made = depends_on_data(scope);
      break;
    case 19:
    case 20:
      made = cut(scope);
      break;
    case 18: {
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

// A function that counts down and calls itself, but not as a tail call.
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

void LanguageGenerator::add_library() {
  Type matrix{
      Kind::kTensor, DType::kF32, {op::pick(extents_, rng_), op::pick(extents_, rng_)}, {}, true};
  for (const auto& [name, function] : library_functions().functions) {
    auto own = std::make_shared<relax::Function>(*relax::as_relax_function(function.get()));
    if (chance(0.3)) own->facts.is_inline = true;
    functions_[name] = {Kind::kFunction, DType::kF32, {}, {}, true};
    functions_[name].fields.assign(own->params.size() + 1, matrix);
    module_.functions[name] = std::move(own);
  }
}

RandomLanguageProgram LanguageGenerator::make(int size) {
  if (chance(0.3)) add_recursive();
  if (chance(0.3)) add_library();
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
  // Printed and parsed: annotations of functions then have their own symbolic variables.
  text::SideTensors constants;
  const std::string text = text::print(module_, &constants);
  program.module = text::parse(text, "generated", {.side = &constants});
  if (chance(0.4)) add_random_patterns(program.module, rng_, static_cast<int>(1 + below(3)));
  return program;
}

}  // namespace tapml::fuzz
