// 32-bit index arithmetic: what is proved, what the launcher checks, what keeps 64 bits.
#include "codegen/lower/narrow_index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/source/emitter.h"
#include "ir/exceptions.h"
#include "passes/lower_math.h"
#include "runtime/kernel_arguments.h"
#include "support/expect_error.h"
#include "text/parser.h"

namespace tapml::codegen {
namespace {

DeviceFunc launch_of(const std::string& source) {
  Module module = text::parse(source, "test");
  const tir::PrimFunc& func = *tir::as_prim_func(module.find("k"));
  return lower_prim_func(*passes::lower_math(func), "k").launches.at(0);
}

// "expression: value", one per line.
std::string limits_of(const DeviceFunc& launch) {
  std::string text;
  for (const IndexLimit& limit : launch.limits) {
    EXPECT_EQ(limit.most, kMost32);
    text += limit.what + ": " + to_string(limit.value) + "\n";
  }
  return text;
}

struct Narrowed {
  bool done;
  std::string limits, source;
};

Narrowed narrowed(const std::string& program, bool wide = true) {
  DeviceFunc launch = launch_of(program);
  bool done = narrow_index(launch, wide, "kernel k on here");
  return {done, limits_of(launch), emit_source({launch}, opencl_c_dialect())};
}

void expect_limit(const std::string& program, const std::vector<std::string>& parts) {
  try {
    narrowed(program, false);
  } catch (const CompilerException& exception) {
    EXPECT_EQ(exception.error().fault, PlatformFault::kLimit);
    testing::expect_parts(exception.error(), parts);
    return;
  }
  ADD_FAILURE() << "no error";
}

TEST(NarrowIndex, ConstantShapesNeedNoCheck) {
  Narrowed result = narrowed(R"(
prim def k(x: Buffer((64, 48), f32), out y: Buffer((48, 64), f32)) {
  for i in parallel(64) {
    for j in serial(48) {
      y[j, i] = x[i, j]
    }
  }
}
)");
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.limits, "");
  EXPECT_NE(result.source.find("int j_0"), std::string::npos) << result.source;
  // Buffer offsets and host arguments keep 64 bits.
  std::string body = result.source.substr(result.source.find("for (uint"));
  EXPECT_EQ(body.find("long"), std::string::npos) << body;
}

TEST(NarrowIndex, OneCheckForTheLargestTensor) {
  Narrowed result = narrowed(R"(
prim def k(x: Buffer((n, 4096), f32), out y: Buffer((n, 11008), f32), n: i64) {
  for i in parallel(n) {
    for j in serial(11008) {
      y[i, j] = x[i, j % 4096]
    }
  }
}
)");
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.limits, "number of elements of y: n*11008\n");
  EXPECT_NE(result.source.find("const int n_0 = (int)wide_n_0;"), std::string::npos);
}

TEST(NarrowIndex, ScalarsAreCheckedWhereNoTensorBoundsThem) {
  // m may be 0: nothing is known about n then.
  Narrowed result = narrowed(R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((m,), f32), n: i64, m: i64) {
  for j in parallel(m) {
    y[j] = f32(0.0)
    for i in serial(n) {
      y[j] = y[j] + x[i, j]
    }
  }
}
)");
  EXPECT_EQ(result.limits, "scalar m: m\nscalar n: n\nnumber of elements of x: m*n\n");
}

TEST(NarrowIndex, IntermediateValuesCountToo) {
  // The padded loop runs past the end: its largest index exceeds the tensor's.
  Narrowed result = narrowed(R"(
prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
  for o in parallel((n + 99) // 100) {
    for i in serial(100) {
      if (o * 100 + i < n) {
        y[o * 100 + i] = x[o * 100 + i]
      }
    }
  }
}
)");
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.limits, "scalar n: n\nindex o*100 + i: (n + 99)//100*100 - 1\n");
}

TEST(NarrowIndex, DimensionsOfTensorsAreNotNegative) {
  // The launch covers a product of differences; the host computes it, and only its value must fit.
  Narrowed result = narrowed(R"(
prim def k(x: Buffer((n, h, w), f32), z: Buffer((a, b), f32), out y: Buffer((n, (h - a) // 2 + 2, (w - b) // 2 + 2), f32), n: i64, h: i64, w: i64, a: i64, b: i64) {
  for p in parallel(n * ((h - a) // 2 + 2) * ((w - b) // 2 + 2)) {
    y[p // (((h - a) // 2 + 2) * ((w - b) // 2 + 2)), p // ((w - b) // 2 + 2) % ((h - a) // 2 + 2), p % ((w - b) // 2 + 2)] = f32(0.0)
  }
}
)",
                             false);
  EXPECT_TRUE(result.done);
  // A factor that could be negative would put both ends of the range into every step.
  EXPECT_EQ(result.limits.find("min("), std::string::npos) << result.limits;
  EXPECT_LE(std::count(result.limits.begin(), result.limits.end(), '\n'), 16) << result.limits;
}

TEST(NarrowIndex, StepsThatDataCountsAreCutTo32Bits) {
  Narrowed result = narrowed(R"(
prim def k(lengths: Buffer((4,), i32), x: Buffer((4, 8), f32), out y: Buffer((4,), f32)) {
  for i in parallel(4) {
    y[i] = f32(0.0)
    for j in serial(i + cast(i64, lengths[i]) + 1) {
      y[i] = y[i] + x[i, j]
    }
  }
}
)");
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.limits, "");
  EXPECT_NE(result.source.find("for (int j_0"), std::string::npos) << result.source;
  EXPECT_NE(result.source.find("2147483647L"), std::string::npos) << result.source;
}

TEST(NarrowIndex, TensorsAboveTheLimitKeep64BitsOrAreRefused) {
  const char* program = R"(
prim def k(x: Buffer((65536, 65536), i8), out y: Buffer((65536,), i8)) {
  for i in parallel(65536) {
    y[i] = x[i, i]
  }
}
)";
  Narrowed result = narrowed(program);
  EXPECT_FALSE(result.done);
  EXPECT_EQ(result.limits, "");
  EXPECT_NE(result.source.find("for (long i_0"), std::string::npos) << result.source;
  expect_limit(program, {"4294967296", "2147483647", "kernel k on here"});
}

TEST(NarrowIndex, IntermediateValuesAboveTheLimit) {
  const char* program = R"(
prim def k(x: Buffer((1024,), f32), out y: Buffer((1024,), f32)) {
  for i in parallel(1024) {
    y[i] = x[i * 4194304 // 4194304]
  }
}
)";
  // Simplified before narrowing.
  EXPECT_TRUE(narrowed(program, false).done);
  const char* large = R"(
prim def k(x: Buffer((1024,), f32), out y: Buffer((1024,), f32), n: i64) {
  for i in parallel(1024) {
    y[i] = x[i * 4194305 // n % 1024]
  }
}
)";
  Narrowed wide = narrowed(large);
  EXPECT_TRUE(wide.done);  // only this index keeps 64 bits
  EXPECT_NE(wide.source.find("(long)"), std::string::npos) << wide.source;
  expect_limit(large, {"i*4194305", "as large as 4290774015", "2147483647"});
}

TEST(NarrowIndex, DataKeepsItsWidth) {
  Narrowed result = narrowed(R"(
prim def k(x: Buffer((n,), i64), out y: Buffer((n,), i64), n: i64) {
  for i in parallel(n) {
    y[i] = x[i] * x[i] + i
  }
}
)");
  EXPECT_TRUE(result.done);
  EXPECT_NE(result.source.find("(ulong)x_0["), std::string::npos) << result.source;
  EXPECT_NE(result.source.find("((long)(i_0))"), std::string::npos) << result.source;
  expect_limit(
      "prim def k(x: Buffer((4,), i64), out y: Buffer((4,), f32)) {\n"
      "  for i in parallel(4) {\n    y[i] = cast(f32, x[i])\n  }\n}\n",
      {"tensor x holds i64", "kernel k on here"});
}

TEST(NarrowIndex, IndicesFromDataOf32BitsNeedNo64) {
  // A negative index counts from the end: the condition implies that the sum fits.
  Narrowed result = narrowed(R"(
prim def k(x: Buffer((n,), f32), ids: Buffer((m,), i32), out y: Buffer((m,), f32), n: i64, m: i64) {
  for i in parallel(m) {
    y[i] = x[select(cast(i64, ids[i]) < 0, cast(i64, ids[i]) + n, cast(i64, ids[i]))]
  }
}
)",
                             false);
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.limits, "scalar m: m\nscalar n: n\n");
  std::string body = result.source.substr(result.source.find("for (uint"));
  EXPECT_EQ(body.find("long"), std::string::npos) << body;
}

TEST(NarrowIndex, WrappingArithmeticStillWraps) {
  Narrowed result = narrowed(R"(
prim def k(out y: Buffer((n,), i32), n: i64) {
  for i in parallel(n) {
    y[i] = cast(i32, i) * i32(65537)
  }
}
)");
  EXPECT_TRUE(result.done);
  EXPECT_NE(result.source.find("(uint)"), std::string::npos) << result.source;
}

TEST(NarrowIndex, TheLauncherNamesKernelExpressionValueAndLimit) {
  KernelInfo kernel;
  kernel.name = "silu_01234567";
  kernel.scalars = {"n"};
  LaunchInfo launch;
  launch.entry = "silu_01234567_0";
  using Op = ScalarOp;
  launch.limits.push_back(
      {{{{Op::kSlot, 0}, {Op::kConst, 4096}, {Op::kMul, 0}}}, 65535, "number of elements of x"});
  EXPECT_TRUE(runtime::check_launch(kernel, launch, std::vector<int64_t>{15}));
  Status beyond = runtime::check_launch(kernel, launch, std::vector<int64_t>{16});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().fault, PlatformFault::kLimit);
  testing::expect_parts(beyond.error(), {"silu_01234567", "number of elements of x", "65536",
                                         "at most 65535", "n = 16"});
  // More than the host's own 64 bits.
  Status overflow = runtime::check_launch(kernel, launch, std::vector<int64_t>{INT64_MAX / 2});
  ASSERT_FALSE(overflow);
  EXPECT_EQ(overflow.error().fault, PlatformFault::kLimit);
}

}  // namespace
}  // namespace tapml::codegen
