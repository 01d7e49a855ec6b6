#include "programs.h"

#include <vector>

#include "build/block_builder.h"
#include "build/pattern_builder.h"
#include "ir/exceptions.h"
#include "passes/weights.h"
#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::bench {

namespace {

using build::FunctionBuilder;
using relax::Variable;

relax::Annotation f32(const Dims& dims) { return relax::tensor_annotation(dims, DType::kF32); }

// Operands available in every function of the programs.
struct Operands {
  Variable x, weight, bias;

  explicit Operands(FunctionBuilder& f) {
    x = f.param("x", f32({make_var("n"), 64}));
    weight = f.param("weight", f32({64, 64}));
    bias = f.param("bias", f32({64}));
  }
};

// Four bindings a layer; each value is used immediately and again in the next layer.
Variable layers(FunctionBuilder& f, const Operands& in, Variable x, int64_t bindings) {
  for (int64_t i = 0; i < bindings / 4; ++i) {
    Variable product = f.emit_op("matmul", {x, in.weight});
    Variable sum = f.emit_op("add", {product, in.bias});
    x = f.emit_op("add", {x, f.emit_op("silu", {sum})});
  }
  return x;
}

relax::FunctionRef chain(const Module& module, int64_t bindings) {
  FunctionBuilder f(module);
  Operands in(f);
  f.begin_dataflow();
  Variable last = f.emit_op("exp", {layers(f, in, in.x, bindings - 1)}, {}, "last", true);
  f.end_dataflow();
  return f.finish(last);
}

// Many values are computed before the first of them is used.
relax::FunctionRef wide(const Module& module, int64_t bindings) {
  FunctionBuilder f(module);
  Operands in(f);
  f.begin_dataflow();
  std::vector<Variable> made;
  Variable x = in.x;
  for (int64_t i = 0; i < bindings / 4; ++i) {
    x = f.emit_op("add", {x, in.bias});
    made.push_back(f.emit_op("silu", {f.emit_op("matmul", {x, in.weight})}));
  }
  for (const Variable& one : made) x = f.emit_op("add", {x, one});
  Variable last = f.emit_op("exp", {x}, {}, "last", true);
  f.end_dataflow();
  return f.finish(last);
}

Module functions(int64_t bindings) {
  constexpr int64_t kEach = 50;
  Module module;
  for (int64_t i = 0; i < bindings / kEach; ++i) {
    module.functions["part" + std::to_string(i)] = chain(module, kEach);
  }
  return module;
}

// `text` with the layer's number in place of every '#'.
std::string layer(const std::string& text, int64_t number) {
  std::string result;
  for (char c : text) result += c == '#' ? std::to_string(number) : std::string(1, c);
  return result;
}

// `before`, the layers, `after`. Layer # takes x# and computes y#, which is the x of the next layer
// and has its type.
Module repeated(const std::string& before, const std::string& text, int64_t bindings_of_layer,
                const std::string& after, int64_t bindings,
                const std::string& type = "Tensor((n, 64), f32)") {
  std::string source = before;
  const int64_t layers = bindings / bindings_of_layer;
  for (int64_t i = 0; i < layers; ++i) {
    source += layer(text, i);
    source += "  x" + std::to_string(i + 1) + ": " + type + " = y" + std::to_string(i) + "\n";
  }
  return text::parse(source + layer(after, layers), "generated");
}

Module control(int64_t bindings) {
  return repeated(R"(
def shifted(a: Tensor((m, 64), f32), bias: Tensor((64,), f32)) -> Tensor((m, 64), f32) {inline: true} {
  return add(silu(a), bias)
}
def doubled(times: Prim(i64, k), a: Tensor((m, 64), f32)) -> Tensor((m, 64), f32) {
  y: Tensor((m, 64), f32) = if (prim(k == 0)) {
    yield a
  } else {
    yield @doubled(prim(k - 1), add(a, a))
  }
  return y
}
def first(a: Tensor((m, 64), f32), b: Tensor((m, 64), f32)) -> Tensor((m, 64), f32) {
  return a
}
def main(x0: Tensor((n, 64), f32), weight: Tensor((64, 64), f32), bias: Tensor((64,), f32),
         times: Prim(i64, k), c: Tensor((), bool)) -> Tensor((n, 64), f32) {
)",
                  R"(
  a#: Tensor((n, 64), f32) = if (c) {
    yield add(matmul(x#, weight), bias)
  } else {
    yield silu(x#)
  }
  g#: Callable((Tensor((n, 64), f32),), Tensor((n, 64), f32)) = def (z#: Tensor((n, 64), f32)) -> Tensor((n, 64), f32) {
    return multiply(z#, a#)
  }
  b#: Tensor((n, 64), f32) = g#(@shifted(a#, bias))
  d#: Tensor((n, 64), f32) = @doubled(prim(2), b#)
  y#: Tensor((n, 64), f32) = @first(x#, @doubled(prim(k), d#))
)",
                  12, "  return x#\n}\n", bindings);
}

Module storage(int64_t bindings) {
  return repeated(R"(
impure def main(x0: Tensor((n, 64), f32), rows: Tensor((8, 64), f32)) -> Tensor((n, 64), f32) {
)",
                  R"(
  v#: Tensor((8, 64), f32) = view_slice(x#, shape(0, 0), shape(8, 64))
  t#: Tensor((64, 8), f32) = view_transpose(v#) {axes: [1, 0]}
  s#: Tensor((8, 64), f32) = add(view_transpose(t#) {axes: [1, 0]}, rows)
  w#: Tuple() = assign_slice(x#, s#, shape(8, 0))
  r#: Tensor((512,), f32) = view_reshape(v#, shape(512))
  e#: Tuple() = assign(r#, copy(r#))
  y#: Tensor((n, 64), f32) = x#
)",
                  10, "  return x#\n}\n", bindings);
}

Module symbols(int64_t bindings) {
  return repeated(R"(
def main(x0: Tensor((n, 64), f32), weight: Tensor((64, 64), f32), c: Tensor((), bool))
    -> Tensor(ndim=2, f32) {
)",
                  R"(
  t#: Tensor(ndim=2, f32) = if (c) {
    yield concat((x#, x#)) {axis: 0}
  } else {
    yield exp(x#)
  }
  s#: Tensor((m#, 64), f32) = match_cast(t#, Tensor((m#, 64), f32))
  g#: Callable((Tensor((k, 64), f32),), Tensor((k, 64), f32)) = def (a#: Tensor((k#, 64), f32)) -> Tensor((k#, 64), f32) {
    return add(a#, const(f32, (), [#.0]))
  }
  b#: Tensor((m#, 64), f32) = g#(matmul(s#, weight))
  dataflow {
    d#: Tensor((m#, 64), f32) = silu(b#)
    e#: Tensor((m#, 64), f32) = d#
    output e#
  }
  y#: Tensor((n, 64), f32) = match_cast(e#, Tensor((n, 64), f32))
)",
                  12, "  return x#\n}\n", bindings);
}

Module sizes(int64_t bindings) {
  return repeated("def main(x0: Tensor((n,), f32)) -> Tensor(ndim=1, f32) {\n", R"(
  m#: Tensor((k#,), f32) = match_cast(x#, Tensor((k#,), f32))
  s#: Tensor((k#,), f32) = sort(m#) {axis: 0}
  w#: Tuple(Tensor(ndim=1, f32), Object, Object) = unique(s#)
  y#: Tensor(ndim=1, f32) = w#[0]
)",
                  5, "  return x#\n}\n", bindings, "Tensor(ndim=1, f32)");
}

Module weights(int64_t bindings) {
  constexpr int64_t kLayer = 5;
  std::string params = "def main(x0: Tensor((n, 64), f32), bias: Tensor((64,), f32)";
  std::vector<std::string> names;
  for (int64_t i = 0; i < bindings / kLayer; ++i) {
    names.push_back("weight" + std::to_string(i));
    params += ", " + names.back() + ": Tensor((64, 64), f32)";
  }
  Module module = repeated(params + ") -> Tensor((n, 64), f32) {\n  dataflow {\n",
                           R"(
  w#: Tensor((64, 64), f32) = permute(weight#) {axes: [1, 0]}
  y#: Tensor((n, 64), f32) = silu(add(matmul(x#, w#), bias))
)",
                           kLayer,
                           "  last: Tensor((n, 64), f32) = exp(x#)\n  output last\n  }\n"
                           "  return last\n}\n",
                           bindings);
  module.facts.weights = names;
  build::PatternBuilder p;
  p.op("silu|gelu", {p.op("add", {p.op("matmul", {p.any("x"), p.any("w")}), p.any("bias")})});
  module.functions["gate"] = p.finish();
  return module;
}

}  // namespace

Module generated_program(const std::string& shape, int64_t bindings) {
  Module module;
  if (shape == "chain") {
    module.functions["main"] = chain(module, bindings);
  } else if (shape == "wide") {
    module.functions["main"] = wide(module, bindings);
  } else if (shape == "functions") {
    module = functions(bindings);
  } else if (shape == "control") {
    module = control(bindings);
  } else if (shape == "storage") {
    module = storage(bindings);
  } else if (shape == "symbols") {
    module = symbols(bindings);
  } else if (shape == "sizes") {
    module = sizes(bindings);
  } else if (shape == "weights") {
    module = weights(bindings);
  } else {
    throw_user("unknown shape of program", "", kShapes, shape);
  }
  return module;
}

}  // namespace tapml::bench
