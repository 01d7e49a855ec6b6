#include <gtest/gtest.h>

#include <limits>

#include "ir/exceptions.h"
#include "random_program.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::text {
namespace {

void expect_round_trip(const Module& module) {
  SideTensors side;
  std::string text = print(module, &side);
  Module parsed;
  try {
    parsed = parse(text, "printed", {.side = &side});
  } catch (const CompilerException& e) {
    FAIL() << e.what() << "\n" << text;
  }
  std::string difference;
  ASSERT_TRUE(structural_equal(module, parsed, {.origins = true, .difference = &difference}))
      << difference << "\n"
      << text;
  ASSERT_EQ(structural_hash(module), structural_hash(parsed)) << text;
  ASSERT_EQ(print(parsed), text);
}

TEST(RoundTrip, RandomModules) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_round_trip(RandomProgram(seed).module());
    if (HasFatalFailure()) return;
  }
}

TEST(RoundTrip, RandomModulesDiffer) {
  // Two seeds with the same text have equal modules, all others differ, and so do their hashes.
  std::map<std::string, uint64_t> hashes;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Module module = RandomProgram(seed).module();
    hashes[print(module)] = structural_hash(module);
  }
  std::set<uint64_t> distinct;
  for (const auto& [text, hash] : hashes) distinct.insert(hash);
  EXPECT_GE(distinct.size() + 5, hashes.size());  // a few differ only in names
}

Module text_module(const std::string& text) { return parse(text, "test"); }

void expect_stable(const std::string& text) {
  EXPECT_EQ(print(text_module(text)), text);
  expect_round_trip(text_module(text));
}

TEST(RoundTrip, Requirements) {
  const std::string body = " {\n  b[] = a[]\n}\n";
  const std::string head =
      "module\n\nprim def f(a: Buffer((), i64), out b: Buffer((), i64), n: i64) requires ";
  std::set<uint64_t> hashes;
  for (const char* requirements : {"{}", "{workspace: n*256}", "{in_place: [0, 1]}",
                                   "{prepared: [0], bytes: 4, digest: \"3f2a\"}",
                                   "{workspace: n, in_place: [0, 1], prepared: [0], bytes: 4, "
                                   "digest: \"\\\"\"} {spec: \"f\"}"}) {
    const Module module = text_module(head + requirements + body);
    expect_stable(print(module));
    EXPECT_NE(print(module).find(std::string("requires ") + requirements), std::string::npos)
        << print(module);
    hashes.insert(structural_hash(module));
  }
  EXPECT_EQ(hashes.size(), 5u);
  const Module some = text_module(head + "{workspace: n}" + body);
  EXPECT_FALSE(structural_equal(some, text_module(head + "{workspace: n*2}" + body)));
  EXPECT_FALSE(structural_equal(some, text_module(head + "{}" + body)));
}

TEST(RoundTrip, GraphLevelForms) {
  expect_stable(
      R"(module {a: true, b: 1, c: 1.0, d: [1], e: [1.0], f: f64[], g: [], h: str[], i: bf16}

def helper(s: Shape((n, m))) -> Tensor((n*m,), f32) {kernel: true} {
  return const(f32, (2, 2), [1.0, -0.0, nan, inf])
}

impure def main(
    x: Tensor((n, 4), f32),
    w: Tensor(ndim=2, bf16),
    s: Shape(ndim=2),
    c: Callable((Shape((k,)), Prim(i64)), Tensor((k,), f32), impure),
    o: Object
) -> Tuple(Tensor(), Prim(i64, n + 1)) {
  dataflow {
    lv0: Tensor((n, 4), f32) = silu(x) @origin("layers.0", "layers.1") @lines("norm.cpp:12")
    lv1: Tensor((n, 4), f32) = call_tir(@relu, (lv0,), shape(n), Tensor((n, 4), f32))
    lv2: Tensor(f32) = call_dps_library(extern "gemm", (lv1, w), Tensor((n, 8), f32))
    output lv1, lv2
  }
  y: Tensor((m,), f32) = match_cast(lv2, Tensor((m,), f32))
  f0: Object = @helper
  lv3: Tensor((n*4,), f32) = f0(shape(n, 4))
  z: Object = if (o) {
    t: Tuple(Object, Object) = (y, lv3)
    yield t[0]
  } else {
    yield op "matmul"
  }
  matmul: Object = extern "packed"(z) {axis: -1}
  lv4: Object = op "matmul"(matmul, prim(n//2 + 1))
  return (lv4, prim(n + 1))
}
)");
}

TEST(RoundTrip, TensorProgramForms) {
  expect_stable(R"(module

prim def all(
    a: Buffer((n, 8), f32),
    inout b: Buffer((n, 8), bf16),
    out c: Buffer((), i32),
    workspace d: Buffer((n*2,), f32),
    n: i64,
    k: i32
) {workgroup_threads: 64} {
  alloc acc: Buffer((4,), f32, local)
  for i in workgroup(n//64) {
    for t in thread(64) {
      alloc own: Buffer((1,), f32, local)
      for u: i32 in unrolled(4) {
        acc[cast(i64, u)] = f32(0.0)
      }
      barrier
      own[0] = subgroup_shuffle_xor(acc[0], 8, 32)
      own[0] = subgroup_max(own[0], 32)
      if i*64 + t < n and not(t == 3) {
        b[i, t] = cast(bf16, max(a[i, t], f32(0.0)))
      } else {
        c[] = k
      }
    }
  }
  {
    alloc tile: Buffer((16, 16), f32, shared)
    tile[0, 0] = let v: f32 = exp(a[0, 0]) in v*v
  }
  for i in parallel((n + 3)//4) {
    for j in vectorized(4) {
      block "scale" (vi: spatial(n) = i*4 + j, vj: reduce(8) = 0) {
        where i*4 + j < n
        reads a[vi, 0 +: 8]
        writes d[vi]
        init {
          d[vi] = f32(-inf)
        }
        d[vi] = select(isnan(bool, a[vi, vj]), f32(1.5), reinterpret(f32, i32(7)))
      }
    }
  }
}
)");
}

TEST(RoundTrip, FormsOfMatrixUnits) {
  expect_stable(R"(module

prim def all(
    x: Buffer((m, k), f16),
    w: Buffer((n, k), f16),
    out y: Buffer((m, n), f32),
    m: i64,
    k: i64,
    n: i64
) {workgroup_threads: 32} {
  for i in workgroup(m//16) {
    alloc xs: Buffer((2, 16, 16), f16, shared, strides=(384, 24, 1))
    alloc row: Buffer((k,), f32, shared)
    for t in thread(32) {
      alloc left: Buffer((16, 16), f16, fragment)
      alloc right: Buffer((16, 16), f16, fragment)
      alloc `for`: Buffer((16, 16), f32, fragment)
      alloc own: Buffer((2, 4), i8, local, strides=(8, 1))
      copy_async(xs[0, t//2, t%2*8 +: 8], x[i*16 + t//2, t%2*8 +: 8])
      commit_copies()
      wait_copies(1)
      barrier
      `for` = matrix_fill(f32(0.0), 32)
      left = matrix_load(xs[0, 0, 0], 24, row_major, 32)
      right = matrix_load(w[0, 0], k, column_major, 32)
      `for` = matrix_multiply_add(left, right, `for`, 32)
      y[i*16, 0] = matrix_store(`for`, n, row_major, 32)
    }
  }
}
)");
}

// Everything that the text shows makes programs unequal, and their hashes too.
TEST(RoundTrip, MatrixOperationsDifferInEachPart) {
  const char* const parts[] = {"c = matrix_fill(f32(0.0), 32)",
                               "c = matrix_fill(f32(1.0), 32)",
                               "c = matrix_fill(f32(0.0), 16)",
                               "d = matrix_fill(f32(0.0), 32)",
                               "c = matrix_load(x[0, 0], 16, row_major, 32)",
                               "c = matrix_load(x[0, 1], 16, row_major, 32)",
                               "c = matrix_load(x[0, 0], 17, row_major, 32)",
                               "c = matrix_load(x[0, 0], 16, column_major, 32)",
                               "c = matrix_load(y[0, 0], 16, row_major, 32)",
                               "y[0, 0] = matrix_store(c, 16, row_major, 32)",
                               "y[0, 0] = matrix_store(c, 16, column_major, 32)",
                               "c = matrix_multiply_add(c, d, c, 32)",
                               "c = matrix_multiply_add(d, c, c, 32)",
                               "c = matrix_multiply_add(c, d, d, 32)",
                               "copy_async(y[0, 0 +: 4], x[0, 0 +: 4])",
                               "copy_async(y[0, 0 +: 4], x[1, 0 +: 4])",
                               "copy_async(y[0, 0 +: 2], x[0, 0 +: 2])",
                               "commit_copies()",
                               "wait_copies(0)",
                               "wait_copies(1)",
                               "alloc s: Buffer((4, 2), f32, shared)",
                               "alloc s: Buffer((4, 2), f32, shared, strides=(2, 1))",
                               "alloc s: Buffer((4, 2), f32, shared, strides=(3, 1))",
                               "alloc s: Buffer((4, 2), f32, fragment)"};
  std::vector<Module> modules;
  std::set<uint64_t> hashes;
  for (const char* part : parts) {
    modules.push_back(text_module(
        std::string("prim def k(x: Buffer((16, 16), f32), out y: Buffer((16, 16), f32)) {\n"
                    "alloc c: Buffer((16, 16), f32, fragment)\n"
                    "alloc d: Buffer((16, 16), f32, fragment)\n") +
        "y[0, 0] = x[0, 0]\n" + part + "\n}"));
    expect_round_trip(modules.back());
    hashes.insert(structural_hash(modules.back()));
  }
  EXPECT_EQ(hashes.size(), std::size(parts));
  for (size_t i = 0; i < modules.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(structural_equal(modules[i], modules[j])) << parts[i] << " and " << parts[j];
    }
  }
}

TEST(RoundTrip, LargeConstantsAreStoredSeparately) {
  Module module = text_module("def f() -> Object { return const(f32, (2,), [1.0, 2.0]) }");
  HostTensor big = HostTensor::zeros(DType::kF32, {257});
  big.mutable_values<float>()[7] = 3;
  auto function = std::make_shared<relax::Function>(*relax::as_relax_function(module.find("f")));
  function->body = relax::make_seq({}, relax::make_constant(big));
  module.functions["f"] = function;
  SideTensors side;
  std::string text = print(module, &side);
  ASSERT_EQ(side.size(), 1u);
  EXPECT_EQ(side.begin()->first, content_hash(big));
  EXPECT_NE(text.find("const(f32, (257,), \"" + content_hash(big) + "\")"), std::string::npos);
  EXPECT_TRUE(structural_equal(module, parse(text, "t", {.side = &side})));
  EXPECT_THROW(parse(text, "t"), CompilerException);
}

// n nested calls of one kind.
std::string nested_loops(int n) {
  std::string text = "prim def f(out b: Buffer((), i64)) {\n", end;
  for (int i = 0; i < n; ++i) {
    text += "for v" + std::to_string(i) + " in serial(1) {\n";
    end += "}";
  }
  return text + "b[] = 1\n" + end + "}";
}

std::string nested_scalars(int n, const std::string& open, const std::string& close) {
  std::string text = "prim def f(out b: Buffer((), i64), n: i64) { b[] = ";
  for (int i = 0; i < n; ++i) text += open;
  text += "n";
  for (int i = 0; i < n; ++i) text += close;
  return text + " }";
}

std::string nested_graph(int n, const std::string& open, const std::string& close) {
  std::string text = "def f(x: Object) -> Object { y: Object = ";
  for (int i = 0; i < n; ++i) text += open;
  text += "x";
  for (int i = 0; i < n; ++i) text += close;
  return text + " return y }";
}

void expect_too_deep(const std::string& text) {
  try {
    text_module(text);
    FAIL() << "parsed";
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kUser);
    EXPECT_EQ(e.error().message, "the program is nested too deeply");
    EXPECT_EQ(e.error().expected, "at most 1000 levels");
  }
}

TEST(Nesting, ToAThousandLevels) {
  expect_round_trip(text_module(nested_loops(1000)));
  expect_round_trip(text_module(nested_scalars(1000, "max(1, ", ")")));
  expect_round_trip(text_module(nested_scalars(1000, "1 + (", ")")));
  expect_round_trip(text_module(nested_scalars(1000, "", " + 1")));
  expect_round_trip(text_module(nested_graph(1000, "(", ",)")));
  expect_round_trip(text_module(nested_graph(1000, "g(", ")")));
  expect_round_trip(text_module(nested_graph(1000, "", "[0]")));
  expect_round_trip(text_module(nested_graph(499, "if (x) { yield ", "} else { yield x }")));
}

TEST(Nesting, RefusedBeyond) {
  expect_too_deep(nested_loops(1001));
  expect_too_deep(nested_scalars(1001, "max(1, ", ")"));
  expect_too_deep(nested_scalars(1001, "", " + 1"));
  expect_too_deep(nested_scalars(100000, "", " + 1"));
  expect_too_deep(nested_scalars(100000, "(", ")"));
  expect_too_deep(nested_graph(1001, "(", ",)"));
  expect_too_deep(nested_graph(100000, "", "[0]"));
  expect_too_deep(nested_graph(100000, "", "(x)"));
  expect_too_deep(nested_graph(100000, "if (", ") x else x"));
  expect_too_deep(nested_graph(100000, "def () -> Object { return ", "}"));
  expect_too_deep("def f(x: " + [] {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += "Tuple(";
    return text;
  }());
}

TEST(Nesting, PrintingDeeperIsRefused) {
  Var n = make_var("n");
  PrimExpr deep = n;
  for (int i = 0; i < 3000; ++i) deep = make_binary(ExprKind::kMax, deep, n);
  try {
    print(deep);
    FAIL() << "printed";
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kUser);
    EXPECT_EQ(e.error().expected, "at most 1000 levels");
  }
}

}  // namespace
}  // namespace tapml::text
