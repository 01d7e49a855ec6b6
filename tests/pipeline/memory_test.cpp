// The prediction of memory_report() equals what the device allocates, to the byte.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/memory_meter.h"
#include "support/random_llama.h"
#include "text/parser.h"

namespace tapml {
namespace {

using testing::compile_for;
using testing::compile_null;
using testing::Compiled;
using testing::measure;
using testing::Meter;
using testing::random_llama;
using testing::value_of;
using testing::Values;

TEST(PredictedMemory, EqualsTheDevicesAllocationsForModels) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    models::LlamaConfig config = random_llama(seed);
    Compiled compiled = compile_null(models::build_decoder(models::llama_model(config), {}));
    for (int64_t n : {1, 2, 5, 17, 64}) {
      Values values = {{"b", 1 + n % 2}, {"n", n}, {"p", 8}, {"pages", 16}};
      for (const char* function : {"prefill", "logits_all"}) {
        EXPECT_EQ(measure(compiled, function, values),
                  value_of(compiled.function(function).peak, values))
            << "seed " << seed << ", n " << n << ", " << function;
      }
    }
  }
}

TEST(PredictedMemory, EqualsTheDevicesAllocationsForBoundedModels) {
  for (unsigned seed = 20; seed < 25; ++seed) {
    Compiled compiled =
        compile_null(models::build_decoder(models::llama_model(random_llama(seed)), {}),
                     {{"b", 2}, {"n", 64}, {"p", 8}, {"pages", 16}});
    for (int64_t n : {1, 3, 8, 31, 64}) {
      Values values = {{"b", 2}, {"n", n}, {"p", 8}, {"pages", 16}};
      for (const char* function : {"prefill", "logits_all"}) {
        EXPECT_EQ(measure(compiled, function, values),
                  value_of(compiled.function(function).peak, values))
            << "seed " << seed << ", n " << n << ", " << function;
      }
    }
  }
}

// With workspaces of kernels, packed weights and allocator alignment.
TEST(PredictedMemory, EqualsTheAllocationsOfPlatforms) {
  for (const char* target : {"cpu", "opencl"}) {
    if (!testing::open_device(target)) continue;
    // Drivers are slow to compile kernels.
    const unsigned seeds = std::string(target) == "cpu" ? 3 : 1;
    for (unsigned seed = 40; seed < 40 + seeds; ++seed) {
      Compiled compiled =
          compile_for(target, models::build_decoder(models::llama_model(random_llama(seed)), {}));
      for (int64_t n : {1, 2, 5, 17, 64}) {
        Values values = {{"b", 1 + n % 2}, {"n", n}, {"p", 8}, {"pages", 16}};
        for (const char* function : {"prefill", "logits_all"}) {
          EXPECT_EQ(measure(compiled, function, values),
                    value_of(compiled.function(function).peak, values))
              << target << ", seed " << seed << ", n " << n << ", " << function;
        }
      }
    }
  }
}

const char* const kModules[] = {
    R"(
def main(x: Tensor((2, n), f32)) -> Tensor((n * 2 + 2,), f32) {
  a: Tensor((2, n), f32) = exp(x)
  b: Tensor((n * 2,), f32) = reshape(a, shape(n * 2))
  c: Tensor((n * 2,), f32) = silu(b)
  d: Tensor((n * 2,), f32) = exp(c)
  e: Tensor((n * 2 + 2,), f32) = pad(d) {widths: [0, 2]}
  return e
}
)",
    R"(
def main(x: Tensor((n, m), f32), y: Tensor((m, n), f32)) -> Tensor((n, n), f32) {
  a: Tensor((n, n), f32) = matmul(x, y)
  b: Tensor((n, n), f32) = softmax(a) {axis: -1}
  c: Tensor((m, m), f32) = matmul(y, x)
  d: Tensor((m, m), f32) = softmax(c) {axis: -1}
  e: Tensor((m, n), f32) = matmul(d, y)
  f: Tensor((n, n), f32) = matmul(x, e)
  g: Tensor((n, n), f32) = add(b, f)
  return g
}
)",
    R"(
def main(x: Tensor((n, 3), f32), y: Tensor((n,), i32)) -> Tuple(Tensor((n, 3), f32), Tensor((1,), i32)) {
  a: Tensor((n, 3), f32) = softmax(x) {axis: 0}
  b: Tensor((n, 3), f32) = cumsum(a) {axis: 0}
  c: Tensor((1,), i32) = max(y) {axes: [0], keepdims: true}
  return (b, c)
}
)",
    R"(
def main(x: Tensor((n, 5), f32)) -> Tensor((n, 5), f32) {
  a: Tensor((n, 5), f32) = softmax(x) {axis: 0}
  b: Tensor((n, 5), f32) = sort(a) {axis: 0}
  c: Tensor((5, n), f32) = permute(b) {axes: [1, 0]}
  d: Tensor((5, n), f32) = softmax(c) {axis: 1}
  e: Tensor((n, 5), f32) = permute(d) {axes: [1, 0]}
  f: Tensor((n, 5), f32) = add(e, b)
  return f
}
)",
    R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 7), f32)) -> Tensor((n, 7), f32) {
  a: Tensor((n, 7), f32) = matmul(x, w)
  b: Tensor((n, 7), f32) = softmax(a) {axis: -1}
  c: Tensor((n, 7), f32) = cumsum(b) {axis: 1}
  d: Tensor((n, 7), f32) = softmax(c) {axis: -1}
  return d
}
)"};

TEST(PredictedMemory, EqualsTheDevicesAllocationsForTextModules) {
  for (const char* text : kModules) {
    Module module = text::parse(text, "test");
    for (bool bounded : {false, true}) {
      Values bounds = bounded ? Values{{"n", 33}, {"m", 20}} : Values{};
      Compiled compiled = compile_null(module, bounds);
      for (int64_t n : {1, 3, 8, 15, 33}) {
        Values values = {{"n", n}, {"m", n / 2 + 1}};
        EXPECT_EQ(measure(compiled, "main", values),
                  value_of(compiled.function("main").peak, values))
            << text << "n " << n << ", bounded " << bounded;
      }
    }
  }
}

// Functions that call others: memory held at each call, by the callee, and by its result; tail
// calls release the caller's frame, and loops pass storages from iteration to iteration.
const char* const kCallers[] = {
    R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  a: Tensor((n, 8), f32) = softmax(x) {axis: 0}
  b: Tensor((n, 8), f32) = @wide(a)
  c: Tensor((n, 8), f32) = cumsum(b) {axis: 0}
  d: Tensor((n, 8), f32) = @wide(c)
  e: Tensor((n, 8), f32) = add(d, a)
  return e
}
def wide(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  a: Tensor((8, n), f32) = permute(x) {axes: [1, 0]}
  b: Tensor((n, n), f32) = matmul(x, a)
  c: Tensor((n, n), f32) = softmax(b) {axis: -1}
  d: Tensor((n, 8), f32) = matmul(c, x)
  return d
}
)",
    R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  t: Tuple(Tensor((n, 8), f32), Tensor((n, n), f32)) = @both(x)
  a: Tensor((n, 8), f32) = t[0]
  b: Tensor((n, 8), f32) = cumsum(a) {axis: 0}
  u: Tuple(Tensor((n, 8), f32), Tensor((n, n), f32)) = @both(b)
  c: Tensor((n, 8), f32) = u[0]
  return c
}
def both(x: Tensor((n, 8), f32)) -> Tuple(Tensor((n, 8), f32), Tensor((n, n), f32)) {
  a: Tensor((8, n), f32) = permute(x) {axes: [1, 0]}
  b: Tensor((n, n), f32) = matmul(x, a)
  c: Tensor((n, 8), f32) = matmul(b, x)
  return (c, b)
}
)",
    R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  a: Tensor((8, n), f32) = permute(x) {axes: [1, 0]}
  b: Tensor((n, n), f32) = matmul(x, a)
  c: Tensor((n, 8), f32) = matmul(b, x)
  d: Tensor((n, 8), f32) = @last(c)
  return d
}
def last(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  a: Tensor((n, 8), f32) = softmax(x) {axis: 0}
  b: Tensor((n, 8), f32) = cumsum(a) {axis: 0}
  return b
}
)",
    R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  a: Tensor((n, 8), f32) = @same(x)
  b: Tensor((n, 8), f32) = softmax(a) {axis: 0}
  c: Tensor((n, 8), f32) = @same(b)
  d: Tensor((n, 8), f32) = add(c, x)
  return d
}
def same(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  return x
}
)",
    R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  y: Tensor((n, 8), f32) = @loop(prim(5), x)
  return y
}
def loop(rounds: Prim(i64, k), x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  y: Tensor((n, 8), f32) = if (prim(k == 0)) {
    yield x
  } else {
    t: Tensor((8, n), f32) = permute(x) {axes: [1, 0]}
    a: Tensor((n, n), f32) = matmul(x, t)
    b: Tensor((n, 8), f32) = matmul(a, x)
    z: Tensor((n, 8), f32) = @loop(prim(k - 1), b)
    yield z
  }
  return y
}
)"};

TEST(PredictedMemory, IsExactForFunctionsThatCallOthers) {
  for (const char* text : kCallers) {
    Module module = text::parse(text, "test");
    for (bool bounded : {false, true}) {
      Compiled compiled = compile_null(module, bounded ? Values{{"n", 40}} : Values{});
      const passes::FunctionMemory& main = compiled.function("main");
      ASSERT_TRUE(main.peak) << main.why;
      EXPECT_TRUE(main.exact);
      for (int64_t n : {1, 2, 7, 16, 40}) {
        Values values = {{"n", n}};
        EXPECT_EQ(measure(compiled, "main", values), value_of(main.peak, values))
            << text << "n " << n << ", bounded " << bounded;
      }
    }
  }
}

TEST(PredictedMemory, IsUnknownForNonTailRecursion) {
  Compiled compiled = compile_null(text::parse(R"(
def main(x: Tensor((n, 8), f32), c: Tensor((), bool)) -> Tensor((n, 8), f32) {
  r: Tensor((n, 8), f32) = if (c) {
    a: Tensor((n, 8), f32) = softmax(x) {axis: 0}
    b: Tensor((n, 8), f32) = @main(a, c)
    d: Tensor((n, 8), f32) = cumsum(b) {axis: 0}
    yield d
  } else {
    yield x
  }
  return r
}
)",
                                               "test"));
  EXPECT_FALSE(compiled.function("main").peak);
  EXPECT_NE(compiled.function("main").why.find("@main is called again"), std::string::npos);
}

// Function values share static storages like other functions.
TEST(StaticMemory, ServesFunctionValues) {
  Compiled compiled = compile_null(text::parse(R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  f: Callable((Tensor((m, 8), f32),), Tensor((m, 8), f32)) = @inner
  a: Tensor((n, 8), f32) = softmax(x) {axis: 0}
  b: Tensor((n, 8), f32) = f(a)
  c: Tensor((n, 8), f32) = add(b, a)
  return c
}
def inner(x: Tensor((m, 8), f32)) -> Tensor((m, 8), f32) {
  a: Tensor((m, 8), f32) = softmax(x) {axis: 0}
  b: Tensor((m, 8), f32) = cumsum(a) {axis: 0}
  return b
}
)",
                                               "test"),
                                   {{"n", 16}, {"m", 16}});
  for (const char* name : {"main", "inner"}) {
    const auto& storages = compiled.function(name).storages;
    EXPECT_TRUE(std::any_of(storages.begin(), storages.end(),
                            [](const passes::PlannedStorage& one) { return one.is_static; }))
        << name;
  }
  const passes::FunctionMemory& main = compiled.function("main");
  EXPECT_FALSE(main.exact) << "any function value might be called";
  for (int64_t n : {1, 5, 16}) {
    EXPECT_LE(measure(compiled, "main", {{"n", n}}), value_of(main.peak, {})) << n;
  }
}

TEST(PredictedMemory, CountsFunctionsThatTheCallerPasses) {
  Compiled compiled = compile_null(text::parse(R"(
def main(x: Tensor((n, 8), f32), f: Callable((Tensor((m, 8), f32)), Tensor((m, 8), f32))) -> Tensor((n, 8), f32) {
  y: Tensor((n, 8), f32) = f(x)
  return y
}
def inner(x: Tensor((k, 8), f32)) -> Tensor((k, 8), f32) {
  y: Tensor((k, 8), f32) = softmax(x) {axis: 0}
  return y
}
)",
                                               "test"));
  EXPECT_FALSE(compiled.function("main").peak);
  EXPECT_NE(compiled.function("main").why.find("may be @inner"), std::string::npos);
}

TEST(PredictedMemory, HoldsOverCallsOfManyShapes) {
  Compiled compiled = compile_null(text::parse(kModules[1], "test"));
  Meter meter(compiled);
  meter.prepare("main", {{"n", 3}, {"m", 2}});
  meter.load();
  int64_t most = 0;
  for (int64_t n : {3, 30, 7, 7, 31, 2}) {
    Values values = {{"n", n}, {"m", n / 2 + 1}};
    most = std::max(most, value_of(compiled.function("main").peak, values));
    Meter fresh(compiled);
    fresh.prepare("main", values);
    fresh.load();
    EXPECT_EQ(fresh.call("main"), value_of(compiled.function("main").peak, values));
  }
  EXPECT_GT(most, 0);
}

TEST(StaticMemory, IsAllocatedAtLoadAndNothingLater) {
  Compiled compiled = compile_null(text::parse(kModules[1], "test"), {{"n", 33}, {"m", 20}});
  EXPECT_GT(compiled.report.static_bytes, 0);
  Meter meter(compiled);
  meter.prepare("main", {{"n", 33}, {"m", 17}});
  meter.load();
  meter.call("main");
  int64_t before = meter.allocations();
  for (int i = 0; i < 3; ++i) meter.call("main");
  EXPECT_EQ(meter.allocations(), before);
}

TEST(StaticMemory, BoundsAreCheckedAtTheEntry) {
  Compiled compiled = compile_null(text::parse(kModules[0], "test"), {{"n", 4}});
  // Two chunks, for (2, n) and (2*n + 2,), are not needed if kernels work in place.
  Meter meter(compiled);
  meter.prepare("main", {{"n", 5}});
  meter.load();
  auto result = meter.vm().call("main", meter.args());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUser);
  EXPECT_NE(result.error().message.find("n is 5, above its bound of 4"), std::string::npos)
      << result.error().message;
  EXPECT_EQ(result.error().expected, "n <= 4");
}

}  // namespace
}  // namespace tapml
