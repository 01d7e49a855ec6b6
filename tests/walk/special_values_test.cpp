// The operators' results for values on which platforms disagree, equal on the reference, the
// interpreted loops, cpu and opencl.
#include <gtest/gtest.h>

#include "support/dtypes.h"
#include "support/generated_program.h"
#include "support/refusals.h"

namespace tapml::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kMin32 = INT32_MIN, kMax32 = INT32_MAX, kMin64 = INT64_MIN, kMax64 = INT64_MAX;

HostTensor reals(std::vector<double> values, DType dtype = kF32) {
  HostTensor tensor = HostTensor::zeros(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.set_f64(static_cast<int64_t>(i), values[i]);
  return tensor;
}

// Two's complement bits of 64-bit dtypes.
HostTensor whole(DType dtype, std::vector<int64_t> values) {
  if (dtype_bits(dtype) != 64) return reals({values.begin(), values.end()}, dtype);
  HostTensor tensor = HostTensor::zeros(dtype, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_values<int64_t>().begin());
  return tensor;
}

struct Special {
  const char* op;
  std::vector<HostTensor> args;
  HostTensor expected;
  AttrMap attrs = {};
};

// Exact remainders of quotients of every size: pairs of magnitudes from the whole range of the
// dtype, from 2^-`least` on, with mantissas that are not round.
Special remainders(const char* op, DType dtype, int least, int most) {
  std::vector<double> magnitudes;
  for (int exponent = least; exponent < most; exponent += 1 + (most - least) / 12) {
    magnitudes.push_back(std::ldexp(1 + 0.6180339887 / (1 + std::fabs(exponent % 5)), exponent));
  }
  std::vector<double> a, b, expected;
  for (double x : magnitudes) {
    for (double y : magnitudes) {
      a.push_back(a.size() % 2 == 0 ? x : -x);
      b.push_back(b.size() % 3 == 0 ? y : -y);
    }
  }
  const HostTensor left = reals(a, dtype), right = reals(b, dtype);
  for (int64_t i = 0; i < left.size(); ++i) {
    const double y = right.at_f64(i);
    double r = std::fmod(left.at_f64(i), y);
    if (std::string_view(op) == "floor_mod" && r != 0 && (r < 0) != (y < 0)) r += y;
    expected.push_back(r);
  }
  return {op, {left, right}, reals(expected, dtype)};
}

std::vector<Special> specials() {
  const HostTensor odd = reals({kNan, kInf, -kInf, -0.0, 0.0, 1});
  const std::vector<double> pairs_a = {kNan, 1, kNan, kInf, -kInf, 1},
                            pairs_b = {1, kNan, kNan, 1, kNan, 2};
  const HostTensor a = reals(pairs_a), b = reals(pairs_b);
  const HostTensor x32 = whole(kI32, {kMin32, 7, -7, -7, 7, 0, kMin32}),
                   y32 = whole(kI32, {-1, 0, 2, -2, -2, 0, 0});
  const HostTensor x64 = whole(kI64, {kMin64, 7, -7, kMax64}), y64 = whole(kI64, {-1, 0, 2, -1});
  const HostTensor xu8 = whole(kU8, {255, 7, 0}), yu8 = whole(kU8, {2, 0, 0});
  AttrMap to_i32 = {{"dtype", kI32}}, to_u8 = {{"dtype", kU8}}, to_i8 = {{"dtype", kI8}},
          to_bool = {{"dtype", kBool}}, to_f16 = {{"dtype", kF16}};
  AttrMap first = {{"axis", int64_t{0}}};
  return {
      // NaN propagates in extrema and compares as false.
      {"maximum", {a, b}, reals({kNan, kNan, kNan, kInf, kNan, 2})},
      {"minimum", {a, b}, reals({kNan, kNan, kNan, 1, kNan, 1})},
      {"less", {a, b}, whole(kBool, {0, 0, 0, 0, 0, 1})},
      {"less_equal", {a, b}, whole(kBool, {0, 0, 0, 0, 0, 1})},
      {"greater", {a, b}, whole(kBool, {0, 0, 0, 1, 0, 0})},
      {"greater_equal", {a, b}, whole(kBool, {0, 0, 0, 1, 0, 0})},
      {"equal", {a, b}, whole(kBool, {0, 0, 0, 0, 0, 0})},
      {"not_equal", {a, b}, whole(kBool, {1, 1, 1, 1, 1, 1})},
      {"equal", {reals({0.0}), reals({-0.0})}, whole(kBool, {1})},
      {"relu", {odd}, reals({kNan, kInf, 0, 0, 0, 1})},
      {"clip", {odd}, reals({kNan, 0.5, -1, 0, 0, 0.5}), {{"min", -1.0}, {"max", 0.5}}},
      {"sign", {odd}, reals({kNan, 1, -1, 0, 0, 1})},
      {"isnan", {odd}, whole(kBool, {1, 0, 0, 0, 0, 0})},
      {"isinf", {odd}, whole(kBool, {0, 1, 1, 0, 0, 0})},
      {"isfinite", {odd}, whole(kBool, {0, 0, 0, 1, 1, 1})},
      {"logical_not", {odd}, whole(kBool, {0, 0, 0, 1, 1, 0})},
      {"max", {reals({1, kNan, 3})}, reals({kNan}), {{"keepdims", true}}},
      {"min", {reals({1, kNan, kNan})}, reals({kNan}), {{"keepdims", true}}},
      {"argmax",
       {reals({1, 9, kNan, kNan, 10})},
       whole(kI32, {2}),
       {{"axis", int64_t{0}}, {"keepdims", true}}},
      {"argmin",
       {reals({1, -9, kNan, -kInf})},
       whole(kI32, {2}),
       {{"axis", int64_t{0}}, {"keepdims", true}}},
      {"argmin",
       {reals({3, 1, 1, 2})},
       whole(kI32, {1}),
       {{"axis", int64_t{0}}, {"keepdims", true}}},
      {"any", {reals({0, -0.0, kNan})}, whole(kBool, {1}), {{"keepdims", true}}},
      // For large elements the logarithm of the sum vanishes.
      {"log_softmax",
       {reals({1e17, 1e17, 1e17, 1e17})},
       reals({-1.3862943611, -1.3862943611, -1.3862943611, -1.3862943611})},
      {"log_softmax", {reals({-3e38, -3e38})}, reals({-0.69314718056, -0.69314718056})},
      {"log_softmax", {reals({-kInf, 5})}, reals({-kInf, 0})},
      {"log_softmax", {reals({kInf, 1})}, reals({kNan, kNan})},
      {"log_softmax", {reals({-kInf, -kInf})}, reals({kNan, kNan})},
      {"logsumexp", {reals({-kInf, -kInf})}, reals({-kInf}), {{"keepdims", true}}},
      {"logsumexp", {reals({kInf, 1})}, reals({kInf}), {{"keepdims", true}}},
      // Edge cases of functions.
      {"log", {odd}, reals({kNan, kInf, kNan, -kInf, -kInf, 0})},
      {"exp", {odd}, reals({kNan, kInf, 0, 1, 1, 2.7182818})},
      {"expm1", {odd}, reals({kNan, kInf, -1, 0, 0, 1.7182818})},
      {"expm1", {reals({1e-30, -1e-30, 89, -200})}, reals({1e-30, -1e-30, kInf, -1})},
      {"sqrt", {odd}, reals({kNan, kInf, kNan, 0, 0, 1})},
      {"tanh", {odd}, reals({kNan, 1, -1, 0, 0, 0.76159416})},
      {"atanh", {reals({1, -1, 2})}, reals({kInf, -kInf, kNan})},
      {"acosh", {reals({0.5, 1, kInf})}, reals({kNan, 0, kInf})},
      {"power",
       {reals({0, 0, -8, kNan, 1, -2, kInf}), reals({0, -1, 1.0 / 3, 0, kNan, 3, -1})},
       reals({1, kInf, kNan, 1, 1, -8, 0})},
      // Half to even, in wide and narrow floats.
      {"round",
       {reals({0.5, 1.5, 2.5, -0.5, -1.5, 1e9, kNan})},
       reals({0, 2, 2, -0.0, -2, 1e9, kNan})},
      {"round", {reals({0.5, 1.5, 1023.5, -kInf}, kF16)}, reals({0, 2, 1024, -kInf}, kF16)},
      // Division of integers.
      {"floor_divide", {x32, y32}, whole(kI32, {kMin32, 0, -4, 3, -4, 0, 0})},
      {"floor_mod", {x32, y32}, whole(kI32, {0, 0, 1, -1, -1, 0, 0})},
      {"trunc_divide", {x32, y32}, whole(kI32, {kMin32, 0, -3, 3, -3, 0, 0})},
      {"mod", {x32, y32}, whole(kI32, {0, 0, -1, -1, 1, 0, 0})},
      {"floor_divide", {x64, y64}, whole(kI64, {kMin64, 0, -4, -kMax64})},
      {"mod", {x64, y64}, whole(kI64, {0, 0, -1, 0})},
      {"floor_divide", {xu8, yu8}, whole(kU8, {127, 0, 0})},
      {"floor_mod", {xu8, yu8}, whole(kU8, {1, 0, 0})},
      {"floor_mod", {whole(kU64, {-1, -1}), whole(kU64, {10, -2})}, whole(kU64, {5, 1})},
      {"divide", {whole(kI32, {1, -7, 0}), whole(kI32, {0, 2, 0})}, reals({kInf, -3.5, kNan})},
      // Division of floats.
      // The remainder of a small negative dividend rounds to the divisor.
      {"floor_divide",
       {reals({1e-13, -1e-13, 1e-13, 59}), reals({-29.5, 29.5, 29.5, -29.5})},
       reals({-1, -1, 0, -2})},
      {"floor_mod",
       {reals({1e-13, -1e-13, 1e-13, 59}), reals({-29.5, 29.5, 29.5, -29.5})},
       reals({-29.5, 29.5, 1e-13, 0})},
      {"floor_mod",
       {reals({-1, 1, 5.5, -5.5, 1, kInf}), reals({kInf, kInf, -2, 2, 0, 1})},
       reals({kInf, 1, -0.5, 0.5, kNan, kNan})},
      {"mod",
       {reals({-1, 5.5, -5.5, 0.3}), reals({kInf, -2, 2, 0.1})},
       reals({-1, 1.5, -1.5, 7.450580596923828e-09})},
      {"floor_divide",
       {reals({1, -1, 0, -1, 6}), reals({0, 0, 0, kInf, 0.1})},
       reals({kInf, -kInf, kNan, -1, 59})},
      remainders("mod", kF32, -100, 127),
      remainders("floor_mod", kF32, -100, 127),
      remainders("mod", kF16, -14, 15),
      remainders("floor_mod", kF16, -14, 15),
      remainders("mod", DType::kBF16, -100, 127),
      remainders("mod", DType::kF64, -1000, 1023),
      remainders("floor_mod", DType::kF64, -1000, 1023),
      // Wrapping.
      {"add", {whole(kI32, {kMax32}), whole(kI32, {1})}, whole(kI32, {kMin32})},
      {"add", {whole(kI64, {kMax64}), whole(kI64, {1})}, whole(kI64, {kMin64})},
      {"multiply", {whole(kI8, {100}), whole(kI8, {3})}, whole(kI8, {44})},
      {"negative", {whole(kI32, {kMin32, 5})}, whole(kI32, {kMin32, -5})},
      {"negative", {whole(kU64, {1, 0})}, whole(kU64, {-1, 0})},
      {"abs", {whole(kI64, {kMin64, -5})}, whole(kI64, {kMin64, 5})},
      {"square", {whole(kU8, {20})}, whole(kU8, {144})},
      {"sum", {whole(kI8, {100, 100, 100})}, whole(kI8, {44}), {{"keepdims", true}}},
      {"cumsum", {whole(kU8, {200, 100, 1})}, whole(kU8, {200, 44, 45}), first},
      {"cumprod", {whole(kI32, {65536, 65536, 3})}, whole(kI32, {65536, 0, 0}), first},
      {"power",
       {whole(kI32, {-1, -1, 2, 0, 3, 1, 7}), whole(kI32, {-3, -2, -1, -1, 20, -5, 0})},
       whole(kI32, {-1, 1, 0, 0, 3486784401 - 4294967296, 1, 1})},
      {"power",
       {whole(kU64, {3, 2}), whole(kU64, {41, 64})},
       whole(kU64, {static_cast<int64_t>(18026252303461234787ull), 0})},
      // Shifts by the width and more.
      {"left_shift",
       {whole(kI32, {1, 1, 1, 1, -1}), whole(kI32, {31, 32, -1, 100, 4})},
       whole(kI32, {kMin32, 0, 0, 0, -16})},
      {"right_shift",
       {whole(kI32, {-8, -8, 8, -8, 8}), whole(kI32, {1, 32, 32, -1, -1})},
       whole(kI32, {-4, -1, 0, -1, 0})},
      {"right_shift", {whole(kU64, {-1, -1}), whole(kU64, {63, 64})}, whole(kU64, {1, 0})},
      {"left_shift", {whole(kI8, {65, 1}), whole(kI8, {1, 8})}, whole(kI8, {-126, 0})},
      // Conversions.
      {"cast",
       {reals({kNan, kInf, -kInf, 3e9, -2.9, 2.9})},
       whole(kI32, {0, kMax32, kMin32, kMax32, -2, 2}),
       to_i32},
      {"cast", {reals({kNan, 300, -5, 254.9})}, whole(kU8, {0, 255, 0, 254}), to_u8},
      {"cast", {whole(kI32, {300, -129, kMin32})}, whole(kI8, {44, 127, 0}), to_i8},
      {"cast", {odd}, whole(kBool, {1, 1, 1, 0, 0, 1}), to_bool},
      {"cast",
       {reals({65504, 65520, -1e6, kNan})},
       reals({65504, kInf, -kInf, kNan}, kF16),
       to_f16},
      {"clip",
       {whole(kI8, {-128, 0, 127})},
       whole(kI8, {-128, 0, 5}),
       {{"min", -1e9}, {"max", 5.0}}},
  };
}

// One program per case, named by its index.
struct Suite {
  std::vector<Special> cases = specials();
  Module module;

  Suite() {
    for (size_t i = 0; i < cases.size(); ++i) {
      op::GeneratedCall call;
      for (const HostTensor& arg : cases[i].args) {
        call.args.push_back({{{arg.dtype(), arg.shape()}}, {}});
      }
      call.attrs = cases[i].attrs;
      EXPECT_TRUE(
          add_generated(module, name(i), *op::find_operator(cases[i].op), call, DimForm::kStatic));
    }
  }
  static std::string name(size_t i) { return "f" + std::to_string(i); }
};

void expect_special(const Special& test, const HostTensor& found) {
  ASSERT_EQ(found.dtype(), test.expected.dtype()) << test.op;
  ASSERT_EQ(found.shape(), test.expected.shape()) << test.op;
  for (int64_t i = 0; i < found.size(); ++i) {
    double value = test.expected.at_f64(i), actual = found.at_f64(i);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(actual)) << test.op << " element " << i << " is " << actual;
    } else if (is_integer(found.dtype()) && dtype_bits(found.dtype()) == 64) {
      EXPECT_EQ(found.values<int64_t>()[static_cast<size_t>(i)],
                test.expected.values<int64_t>()[static_cast<size_t>(i)])
          << test.op << " element " << i;
    } else if (actual != value) {
      const bool exact = std::string_view(test.op).ends_with("mod");
      EXPECT_NEAR(actual, value, exact ? 0 : 1e-6 * std::fabs(value))
          << test.op << " element " << i;
    }
  }
}

TEST(SpecialValues, OnTheReferenceAndItsLoops) {
  Suite suite;
  Module legalized = passes::legalize(suite.module);
  for (size_t i = 0; i < suite.cases.size(); ++i) {
    const Special& test = suite.cases[i];
    SCOPED_TRACE(i);
    std::vector<interp::Value> args;
    for (const HostTensor& arg : test.args) {
      args.push_back(interp::Value::tensor(op::RefTensor::from(arg)));
    }
    expect_special(test, interp::call(suite.module, Suite::name(i), args).as_tensor().to_host());
    interp::Value loops = interp::call(legalized, Suite::name(i), args, interp::KernelBody::kLoops);
    expect_special(test, loops.as_tensor().to_host());
  }
}

class SpecialValuesOn : public ::testing::TestWithParam<const char*> {};

TEST_P(SpecialValuesOn, Platform) {
  auto session = open_session(GetParam());
  if (!session) GTEST_SKIP() << GetParam() << " is unavailable";
  Suite suite;
  auto executable = compile_supported(suite.module, target::parse_target(GetParam()));
  auto vm = runtime::LocalVirtualMachine::create(*session, std::move(executable));
  ASSERT_TRUE(vm) << vm.error().to_string();
  for (size_t i = 0; i < suite.cases.size(); ++i) {
    const Special& test = suite.cases[i];
    if (!suite.module.functions.contains(Suite::name(i))) continue;
    SCOPED_TRACE(i);
    std::vector<runtime::Value> args;
    for (const HostTensor& arg : test.args) {
      auto tensor = runtime::upload(*session, arg);
      ASSERT_TRUE(tensor) << tensor.error().to_string();
      args.emplace_back(*tensor);
    }
    auto result = (*vm)->call(Suite::name(i), args);
    ASSERT_TRUE(result) << result.error().to_string();
    auto host = runtime::download(*result->tensor());
    ASSERT_TRUE(host) << host.error().to_string();
    expect_special(test, *host);
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, SpecialValuesOn,
                         ::testing::Values("cpu", "opencl", "opencl:index=32", "vulkan", "wasm"));

}  // namespace
}  // namespace tapml::testing
