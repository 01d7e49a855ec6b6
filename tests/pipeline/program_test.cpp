// Hand-written tensor programs, patterns and run-time checks, from text to a device.
#include <gtest/gtest.h>

#include "build/pattern_builder.h"
#include "pipeline/compile.h"
#include "run_module.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/within_bounds.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml {
namespace {

using testing::interpret_module;
using testing::parse_input;
using testing::run_module;

HostTensor counting(DType dtype, Shape shape, double step) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, step * static_cast<double>(i % 13 - 4));
  }
  return tensor;
}

class Programs : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::open_session(GetParam())) GTEST_SKIP() << GetParam() << " is unavailable";
  }
  void check(const Module& module, const std::vector<HostTensor>& inputs) {
    auto found = run_module(GetParam(), module, inputs);
    ASSERT_TRUE(found) << found.error().to_string();
    // Twice: as written, and as the compiler split it into kernels.
    for (const Module& one : {module, pipeline::form_kernels(module)}) {
      std::vector<op::RefTensor> expected = interpret_module(one, inputs);
      ASSERT_EQ(found->size(), expected.size());
      for (size_t o = 0; o < expected.size(); ++o) {
        const auto problem = testing::outside_bound((*found)[o], expected[o]);
        EXPECT_FALSE(problem) << GetParam() << ", output " << o << ": " << *problem;
        for (size_t i = 0; i < expected[o].values.size(); ++i) {
          EXPECT_LT(expected[o].bound[i], 1e-3);
        }
      }
    }
  }
};

TEST_P(Programs, PlainLoopsFuseAndRun) {
  Module module = parse_input(R"(
def main(x: Tensor((n, 6), f32), w: Tensor((6,), f32)) -> Tensor((n, 6), f32) {
  dataflow {
    a: Tensor((n, 6), f32) = silu(x)
    b: Tensor((n, 6), f32) = call_tir(@shifted, (a, w), Tensor((n, 6), f32))
    c: Tensor((n, 6), f32) = exp(b)
    output c
  }
  return c
}
prim def shifted(a: Buffer((m, k), f32), w: Buffer((k,), f32), out b: Buffer((m, k), f32),
                 m: i64, k: i64) {
  for i in serial(m) { for j in serial(k) { b[i, j] = a[i, j] * w[j] + f32(0.5) } }
})");
  for (int64_t rows : {0, 1, 5, 40}) {
    check(module, {counting(DType::kF32, {rows, 6}, 0.1), counting(DType::kF32, {6}, 0.25)});
  }
}

TEST_P(Programs, ScalarsThatNoShapeGivesAndSeveralOutputs) {
  Module module = parse_input(R"(
def main(x: Tensor((n, k), f32)) -> Tuple(Tensor((k,), f32), Tensor((n, k*2), f32)) {
  y: Tuple(Tensor((k,), f32), Tensor((n, k*2), f32)) =
      call_tir(@both, (x,), shape(k*2), Tensor((k,), f32), Tensor((n, k*2), f32))
  return y
}
prim def both(x: Buffer((n, k), f32), out total: Buffer((k,), f32), out wide: Buffer((n, w), f32),
              n: i64, k: i64, w: i64) {
  alloc acc: Buffer((k,), f32)
  for j in parallel(k) {
    acc[j] = f32(0.0)
    for i in serial(n) { acc[j] = acc[j] + x[i, j] }
  }
  for j in parallel(k) { total[j] = acc[j] * f32(2.0) }
  for i in parallel(n) { for j in serial(w) {
    if (j < k) { wide[i, j] = x[i, j] } else { wide[i, j] = f32(0.0) - x[i, j - k] }
  } }
})");
  check(module, {counting(DType::kF32, {17, 5}, 0.3)});
}

TEST_P(Programs, UpdatesInPlace) {
  Module module = parse_input(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor((n,), f32) = call_tir_inplace(@halve, (a,), Tensor((n,), f32)) {inout_indices: [0]}
    output b
  }
  return b
}
prim def halve(inout a: Buffer((n,), f32), n: i64) {
  for i in parallel(n) { a[i] = a[i] * f32(0.5) }
})");
  check(module, {counting(DType::kF32, {33}, 0.2)});
}

const char* const kMatmul = R"(
def main(x: Tensor((m, k), f32), w: Tensor((n, 8), f32)) -> Tensor((m, 8), f32) {
  dataflow {
    y: Tensor((m, 8), f32) = matmul(x, w)
    z: Tensor((m, 8), f32) = silu(y)
    output z
  }
  return z
})";

TEST_P(Programs, DimensionsThatMayDifferAreCheckedWhenTheProgramRuns) {
  Module module = parse_input(kMatmul);
  check(module, {counting(DType::kF32, {3, 5}, 0.1), counting(DType::kF32, {5, 8}, 0.1)});
  std::vector<HostTensor> wrong = {counting(DType::kF32, {3, 5}, 0.1),
                                   counting(DType::kF32, {4, 8}, 0.1)};
  auto failed = run_module(GetParam(), module, wrong);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kUser);
  testing::expect_parts(failed.error(), {"main", "dimension 0 of operand b of matmul in binding y",
                                         "k = 5", "f32[4, 8]"});
  // The interpreter refuses the same call, before and after the kernels are formed.
  for (const Module& one : {module, pipeline::form_kernels(module)}) {
    testing::expect_user_error([&] { interpret_module(one, wrong); }, {"5", "4"});
  }
}

TEST_P(Programs, PossibleBroadcastsHappenOrAreRefused) {
  Module module = parse_input(R"(
def main(x: Tensor((4,), f32), y: Tensor((n,), f32)) -> Tensor((4,), f32) {
  z: Tensor((4,), f32) = add(x, y)
  return z
})");
  for (int64_t n : {1, 4}) {
    check(module, {counting(DType::kF32, {4}, 0.1), counting(DType::kF32, {n}, 0.3)});
  }
  for (int64_t n : {0, 2, 3, 5}) {
    auto failed = run_module(GetParam(), module,
                             {counting(DType::kF32, {4}, 1), counting(DType::kF32, {n}, 1)});
    ASSERT_FALSE(failed) << n;
    EXPECT_EQ(failed.error().kind, ErrorKind::kUser);
    testing::expect_parts(failed.error(), {"operand b of add in binding z of main", "not 1 or 4"});
  }
}

TEST_P(Programs, ArgumentsOfProgramsAreCheckedToo) {
  Module module = parse_input(R"(
def main(x: Tensor((n,), f32), y: Tensor((k,), f32)) -> Tensor((n,), f32) {
  z: Tensor((n,), f32) = call_tir(@add2, (x, y), Tensor((n,), f32))
  return z
}
prim def add2(a: Buffer((m,), f32), b: Buffer((m,), f32), out c: Buffer((m,), f32), m: i64) {
  for i in serial(m) { c[i] = a[i] + b[i] }
})");
  check(module, {counting(DType::kF32, {9}, 0.1), counting(DType::kF32, {9}, 0.3)});
  auto failed = run_module(GetParam(), module,
                           {counting(DType::kF32, {9}, 1), counting(DType::kF32, {8}, 1)});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kUser);
  testing::expect_parts(failed.error(), {"argument b of @add2 in binding z of main",
                                         "n = 9 (n is dimension 0 of parameter x)", "f32[8]"});
}

TEST_P(Programs, AMatchedPatternIsOneKernel) {
  Module module = parse_input(R"(
def main(q: Tensor((3, m, 8), f32), k: Tensor((3, n, 8), f32), v: Tensor((3, n, 8), f32))
    -> Tensor((3, m*8), f32) {
  dataflow {
    s: Tensor((3, m, n), f32) = matmul(q, k) {transpose_b: true}
    p: Tensor((3, m, n), f32) = softmax(s) {axis: -1}
    o: Tensor((3, m, 8), f32) = matmul(p, v)
    r: Tensor((3, m*8), f32) = reshape(o, shape(3, m*8))
    output r
  }
  return r
}

def attention(q: Object, k: Object, v: Object, t: Shape(ndim=2)) -> Object {pattern: true} {
  dataflow {
    s: Object = matmul(q, k) {transpose_b: true}
    p: Object = softmax(s) {axis: -1}
    o: Object = matmul(p, v)
    r: Object = reshape(o, t)
    output r
  }
  return r
}
)");
  Module fixed = pipeline::form_kernels(module);
  size_t functions = 0;
  for (const auto& [name, function] : fixed.functions) {
    functions += function->level == FunctionLevel::kRelax;
  }
  EXPECT_EQ(functions, 2u) << "main and one kernel";
  // The pattern built in C++ matches the same kernel.
  build::PatternBuilder p;
  relax::Variable q = p.any("q"), k = p.any("k"), v = p.any("v");
  relax::Variable t = p.any("t", relax::shape_annotation_ndim(2));
  relax::Variable scores = p.op("matmul", {q, k}, {{"transpose_b", true}});
  relax::Variable weighted = p.op("matmul", {p.op("softmax", {scores}, {{"axis", -1}}), v});
  p.op("reshape", {weighted, t});
  Module built = module;
  built.functions["attention"] = p.finish();
  EXPECT_EQ(text::print(pipeline::form_kernels(built)), text::print(fixed));
  for (int64_t m : {0, 1, 5}) {
    check(built, {counting(DType::kF32, {3, m, 8}, 0.25), counting(DType::kF32, {3, 7, 8}, 0.5),
                  counting(DType::kF32, {3, 7, 8}, 1)});
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, Programs, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

Module program(const std::string& body) {
  return parse_input(
      "def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n"
      "y: Tensor((n,), f32) = call_tir(@f, (x,), Tensor((n,), f32)) return y }\n"
      "prim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {" +
      body + "}");
}

void expect_refused(const std::string& body, const std::string& target,
                    const std::vector<std::string>& parts) {
  Module module = program(body);
  testing::expect_user_error([&] { pipeline::compile(module, target::parse_target(target)); },
                             parts);
}

TEST(ProgramFaults, AreInputErrorsWithAPosition) {
  expect_refused("for i in parallel(n) { alloc t: Buffer((4,), f32) t[0] = x[i] y[i] = t[0] }",
                 "cpu", {"@f", "buffer t", "inside a loop", "cpu"});
  const std::string groups =
      "for g in workgroup(n) { for t in thread(4) { if (t == 0) { y[g] = x[g] } } }";
  expect_refused(groups, "cpu", {"@f", "work-group loop over g", "no work groups"});
  EXPECT_NO_THROW(pipeline::compile(program(groups), target::parse_target("opencl")));
  expect_refused("for g in workgroup(n) { for t in thread(4096) { y[g] = x[g] } }", "opencl",
                 {"@f", "256 threads", "4096"});
}

TEST(ProgramFaults, NoTargetHasMatrixUnitsYet) {
  const auto group = [](const std::string& body) {
    return "for g in workgroup(n // 256) { alloc s: Buffer((256,), f32, shared) "
           "for t in thread(32) { y[g*256 + t] = f32(0.0) " +
           body + " } }";
  };
  const std::string fragment = group(
      "alloc c: Buffer((16, 16), f32, fragment) "
      "c = matrix_load(x[g*256], 16, row_major, 32) "
      "y[g*256] = matrix_store(c, 16, row_major, 32)");
  const std::string copy =
      group("copy_async(s[t*8 +: 8], x[g*256 + t*8 +: 8]) commit_copies() wait_copies(0)");
  for (const char* target : {"opencl", "vulkan"}) {
    expect_refused(fragment, target, {"@f", "fragment c", "no matrix units", target});
    expect_refused(copy, target, {"@f", "copy_async to s", "no asynchronous copies", target});
  }
  for (const char* target : {"cpu", "wasm"}) {
    expect_refused(fragment, target, {"@f", "no work groups", target});
  }
}

// Local memory that exceeds a thread's stack, alone or in total, in each copy of an unrolled loop.
TEST(ProgramFaults, LocalMemoryIsLimited) {
  const std::string huge =
      "for i in parallel(n) { alloc t: Buffer((100000000,), f32, local) t[0] = x[i] y[i] = t[0] }";
  for (const char* target : {"cpu", "wasm", "opencl", "vulkan"}) {
    expect_refused(huge, target, {"@f", "local buffers", "400000000 bytes", "global scope"});
  }
  auto tables = [](int count) {
    std::string body = "for i in parallel(n) { ";
    for (int k = 0; k < count; ++k) {
      body += "alloc t" + std::to_string(k) + ": Buffer((100000,), f32, local) ";
    }
    return body + "t0[0] = x[i] y[i] = t0[0] }";
  };
  EXPECT_NO_THROW(pipeline::compile(program(tables(2)), target::parse_target("cpu")));
  expect_refused(tables(3), "cpu", {"@f", "t2", "1200000 bytes", "1048576"});
  expect_refused(
      "for i in parallel(n) { for u in unrolled(200) { alloc t: Buffer((2000,), f32, local) "
      "t[0] = x[i] y[i] = t[0] } }",
      "cpu", {"@f", "1600000 bytes"});
  expect_refused(
      "for i in parallel(n) { alloc t: Buffer((4000000000, 4000000000), f64, local) "
      "t[0, 0] = f64(0) y[i] = x[i] }",
      "cpu", {"@f", "2^63"});
  // Sequential launches do not add up.
  EXPECT_NO_THROW(pipeline::compile(
      program("alloc w: Buffer((n,), f32) for i in parallel(n) { alloc t: Buffer((200000,), f32, "
              "local) t[0] = x[i] w[i] = t[0] } for i in parallel(n) { alloc s: Buffer((200000,), "
              "f32, local) s[0] = w[i] y[i] = s[0] }"),
      target::parse_target("cpu")));
}

TEST(ProgramFaults, TheReferenceReportsOutOfBoundsIndices) {
  Module module = program("for i in serial(n) { y[i] = x[cast(i64, x[i]) + 3] }");
  testing::expect_user_error([&] { interpret_module(module, {counting(DType::kF32, {3}, 1)}); },
                             {"@f", "index", "buffer x"});
}

TEST(ProgramFaults, ACertainOutOfBoundsIndexIsRefused) {
  testing::expect_user_error(
      [&] { program("for i in serial(n) { y[i] = x[i + 1] }"); },
      {"@f", "x[i + 1]", "from 0 to n - 1 in dimension 0 of x", "n where i is n - 1"});
  testing::expect_user_error(
      [&] {
        program("for i in serial(n) { if (i < 3) { y[i - 8] = x[i] } else { y[i] = x[i] } }");
      },
      {"@f", "y[i - 8]", "-8 to -6"});
}

}  // namespace
}  // namespace tapml
