// Edge values of every dtype: generated code, equal to the interpreter bit for bit, and a few
// results written out (docs/semantics.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/rng.h"
#include "device_kernels.h"
#include "interp/interpreter.h"
#include "ir/intrinsics.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

constexpr DType kIntegers[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                               DType::kU8, DType::kU16, DType::kU32, DType::kU64};
constexpr DType kFloats[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

HostTensor empty(DType dtype, int64_t n) { return HostTensor::zeros(dtype, {n}); }

void set_bits(HostTensor& tensor, int64_t i, uint64_t bits) {
  size_t width = dtype_bytes(tensor.dtype());
  std::memcpy(tensor.mutable_bytes().data() + static_cast<size_t>(i) * width, &bits, width);
}

// Every edge of an integer type, then random values of every magnitude.
std::vector<uint64_t> edge_bits(DType dtype) {
  int bits = dtype_bits(dtype);
  uint64_t top = uint64_t{1} << (bits - 1);
  std::vector<uint64_t> values = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100};
  for (uint64_t v : {top, top + 1, top - 1, top / 2, ~uint64_t{0}, ~uint64_t{0} - 1,
                     ~uint64_t{0} - 6, ~uint64_t{0} - 62}) {
    values.push_back(v);
  }
  return values;
}

// All pairs of edges and some random pairs.
void fill_pairs(HostTensor& a, HostTensor& b) {
  std::vector<uint64_t> edges = edge_bits(a.dtype());
  RandomStream stream(11, dtype_name(a.dtype()));
  int64_t i = 0;
  for (uint64_t x : edges) {
    for (uint64_t y : edges) {
      set_bits(a, i, x);
      set_bits(b, i++, y);
    }
  }
  auto random = [&] {
    uint64_t value = (uint64_t{stream.next()} << 32) | stream.next();
    return value >> (stream.below(64));
  };
  for (; i < a.size(); ++i) {
    set_bits(a, i, random());
    set_bits(b, i, random());
  }
}

std::vector<double> float_edges(DType dtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> values = {
      0.0,          -0.0,         1,
      -1,           0.5,          -0.5,
      1.5,          2.5,          -2.5,
      3.5,          0.49,         1e-3,
      100,          -127.5,       128,
      255.9,        256,          65504,
      65520,        1e5,          -1e5,
      2147483647.0, 2147483648.0, -2147483649.0,
      4294967296.0, 9.3e18,       -9.3e18,
      1.9e19,       1e30,         -1e38,
      3.5e38,       1e-40,        -1e-45,
      kInf,         -kInf,        std::numeric_limits<double>::quiet_NaN()};
  if (dtype == DType::kF64) {
    values.insert(values.end(), {1e300, -1e308, 5e-324, 9007199254740993.0, 65519.999999});
  }
  return values;
}

// Expressions over two tensors of an element type, one output each.
struct Program {
  // Outputs per kernel: platforms bind no more.
  static constexpr size_t kOutputs = 20;
  struct Part {
    std::string params, body;
    std::vector<HostTensor> outputs;
  };
  std::string inputs;
  std::vector<HostTensor> arguments;  // a and b
  std::vector<Part> parts;
  int64_t n;

  Program(DType dtype, int64_t count) : n(count) {
    std::string type = dtype_name(dtype);
    inputs = "a: Buffer((n,), " + type + "), b: Buffer((n,), " + type + ")";
    arguments = {empty(dtype, n), empty(dtype, n)};
  }
  void add(const std::string& expression, DType dtype) {
    if (parts.empty() || parts.back().outputs.size() == kOutputs) parts.emplace_back();
    Part& part = parts.back();
    std::string name = "y" + std::to_string(part.outputs.size());
    part.params += ", out " + name + ": Buffer((n,), " + std::string(dtype_name(dtype)) + ")";
    part.body += "    " + name + "[i] = " + expression + "\n";
    part.outputs.push_back(empty(dtype, n));
  }
  std::string source(const Part& part) const {
    return "prim def k(" + inputs + part.params + ", n: i64) {\n  for i in parallel(n) {\n" +
           part.body + "  }\n}\n";
  }
  std::vector<HostTensor> tensors(const Part& part) const {
    std::vector<HostTensor> all = arguments;
    all.insert(all.end(), part.outputs.begin(), part.outputs.end());
    return all;
  }
};

class Semantics : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!device_.available()) GTEST_SKIP() << GetParam() << " is unavailable";
  }

  // Runs the only function of `source` on the device and in the interpreter; all elements have
  // equal bits, or both are NaN. Returns the device's tensors.
  std::vector<HostTensor> check(const std::string& source, const std::vector<HostTensor>& arguments,
                                const std::vector<int64_t>& scalars = {}) {
    Module module = text::parse(source, "test");
    const tir::PrimFunc& func = *tir::as_prim_func(module.functions.begin()->second.get());
    DeviceKernels device(GetParam());
    int32_t kernel = device.add_scheduled(func);
    device.load();
    std::vector<HostTensor> found, expected;
    for (const HostTensor& argument : arguments) {
      for (auto* list : {&found, &expected}) {
        list->push_back(HostTensor::zeros(argument.dtype(), argument.shape()));
        std::copy(argument.bytes().begin(), argument.bytes().end(),
                  list->back().mutable_bytes().begin());
      }
    }
    if (HasFatalFailure()) return found;
    device.run(kernel, found, scalars);
    interp::run_prim_func(func, expected, scalars);
    for (size_t t = 0; t < found.size(); ++t) compare(source, found, expected, t);
    return found;
  }

  void check(const Program& program) {
    for (const Program::Part& part : program.parts) {
      check(program.source(part), program.tensors(part), {program.n});
    }
  }

  static void compare(const std::string& source, const std::vector<HostTensor>& found,
                      const std::vector<HostTensor>& expected, size_t t) {
    size_t width = dtype_bytes(found[t].dtype());
    for (int64_t i = 0; i < found[t].size(); ++i) {
      auto a = found[t].bytes().subspan(static_cast<size_t>(i) * width, width);
      auto b = expected[t].bytes().subspan(static_cast<size_t>(i) * width, width);
      if (std::equal(a.begin(), a.end(), b.begin())) continue;
      if (std::isnan(found[t].at_f64(i)) && std::isnan(expected[t].at_f64(i))) continue;
      ADD_FAILURE() << source << "\ntensor " << t << " element " << i << " of inputs "
                    << found[0].at_f64(i) << ", " << found[1].at_f64(i) << " is "
                    << found[t].at_f64(i) << ", expected " << expected[t].at_f64(i);
      return;
    }
  }

  DeviceKernels device_{GetParam()};
};

class IntegerSemantics : public Semantics {};
TEST_P(IntegerSemantics, AgreeWithTheInterpreter) {
  for (DType dtype : kIntegers) {
    Program program(dtype, 4000);
    fill_pairs(program.arguments[0], program.arguments[1]);
    std::string type = dtype_name(dtype);
    for (const char* text : {"a[i] + b[i]",
                             "a[i] - b[i]",
                             "a[i] * b[i]",
                             "a[i] // b[i]",
                             "a[i] % b[i]",
                             "trunc_div(a[i], b[i])",
                             "trunc_mod(a[i], b[i])",
                             "shift_left(a[i], b[i])",
                             "shift_right(a[i], b[i])",
                             "bit_and(a[i], b[i])",
                             "bit_or(a[i], b[i])",
                             "bit_xor(a[i], b[i])",
                             "bit_not(a[i])",
                             "mul_high(a[i], b[i])",
                             "abs(a[i])",
                             "sign(a[i])",
                             "popcount(a[i])",
                             "min(a[i], b[i])",
                             "max(a[i], b[i])",
                             "(a[i] + b[i]) // (a[i] - b[i])",
                             "shift_right(a[i] * b[i], bit_not(b[i]))"}) {
      program.add(text, dtype);
    }
    program.add("a[i] // " + type + "(7)", dtype);
    program.add("a[i] % " + type + "(7)", dtype);
    program.add("trunc_div(a[i], " + type + "(7))", dtype);
    program.add("trunc_mod(a[i], " + type + "(7))", dtype);
    program.add("a[i] // " + type + "(0)", dtype);
    program.add("shift_left(a[i], " + type + "(3))", dtype);
    program.add("shift_right(a[i], " + type + "(" + std::to_string(dtype_bits(dtype)) + "))",
                dtype);
    if (dtype == DType::kI32) {
      // Bytes of any value, and bytes that are known to be small, for which there are other
      // instructions.
      program.add("dot4(a[i], b[i], a[i])", dtype);
      program.add("dot4(bit_and(shift_right(a[i], i32(4)), i32(252645135)), b[i], b[i])", dtype);
      program.add("dot4(bit_and(a[i], i32(2139062143)), b[i], i32(0))", dtype);
      program.add("dot4(a[i], b[0], i32(0))", dtype);
    }
    if (is_signed_integer(dtype)) {
      program.add("a[i] // " + type + "(-1)", dtype);
      program.add("a[i] % " + type + "(-5)", dtype);
    }
    program.add("a[i] + b[i] < b[i] + " + type + "(1)", DType::kBool);
    program.add("a[i] * " + type + "(4) // " + type + "(4) == a[i]", DType::kBool);
    check(program);
    if (HasFatalFailure()) return;
  }
}

TEST_P(IntegerSemantics, ConvertEverywhere) {
  for (DType from : kIntegers) {
    Program program(from, 2000);
    fill_pairs(program.arguments[0], program.arguments[1]);
    for (DType to : kIntegers) program.add("cast(" + std::string(dtype_name(to)) + ", a[i])", to);
    for (DType to : kFloats) program.add("cast(" + std::string(dtype_name(to)) + ", a[i])", to);
    program.add("cast(bool, a[i])", DType::kBool);
    for (DType to : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kI8, DType::kU8}) {
      if (dtype_bytes(to) != dtype_bytes(from)) continue;
      program.add("reinterpret(" + std::string(dtype_name(to)) + ", a[i] + b[i])", to);
    }
    check(program);
  }
}

TEST_P(IntegerSemantics, BoolHasBitsAndConverts) {
  Program program(DType::kBool, 4);
  for (int64_t i = 0; i < 4; ++i) {
    set_bits(program.arguments[0], i, static_cast<uint64_t>(i & 1));
    set_bits(program.arguments[1], i, static_cast<uint64_t>(i >> 1));
  }
  for (const char* text : {"bit_and(a[i], b[i])", "bit_or(a[i], b[i])", "bit_xor(a[i], b[i])",
                           "bit_not(a[i])", "a[i] and not(b[i])", "a[i] == b[i]", "a[i] < b[i]"}) {
    program.add(text, DType::kBool);
  }
  for (DType to : kIntegers) program.add("cast(" + std::string(dtype_name(to)) + ", a[i])", to);
  for (DType to : kFloats) program.add("cast(" + std::string(dtype_name(to)) + ", a[i])", to);
  check(program);
}

class FloatSemantics : public Semantics {};
TEST_P(FloatSemantics, AgreeWithTheInterpreter) {
  for (DType dtype : kFloats) {
    std::vector<double> edges = float_edges(dtype);
    auto count = static_cast<int64_t>(edges.size());
    Program program(dtype, count * count + 3000);
    RandomStream stream(17, dtype_name(dtype));
    for (int64_t i = 0; i < program.n; ++i) {
      if (i < count * count) {
        program.arguments[0].set_f64(i, edges[static_cast<size_t>(i / count)]);
        program.arguments[1].set_f64(i, edges[static_cast<size_t>(i % count)]);
      } else {
        for (int k : {0, 1}) {
          set_bits(program.arguments[static_cast<size_t>(k)], i,
                   (uint64_t{stream.next()} << 32) | stream.next());
          double value = program.arguments[static_cast<size_t>(k)].at_f64(i);
          // The interpreter's NaN is quiet.
          if (std::isnan(value)) program.arguments[static_cast<size_t>(k)].set_f64(i, value);
        }
      }
    }
    for (const char* text :
         {"a[i] + b[i]", "a[i] - b[i]", "a[i] * b[i]", "a[i] / b[i]", "sqrt(a[i])", "rsqrt(a[i])",
          "floor(a[i])", "ceil(a[i])", "trunc(a[i])", "round(a[i])", "abs(a[i])", "sign(a[i])",
          "fma(a[i], b[i], a[i])"}) {
      program.add(text, dtype);
    }
    // The sign of a zero result is unspecified.
    std::string zero = std::string(dtype_name(dtype)) + "(0.0)";
    for (const char* text : {"min(a[i], b[i])", "max(a[i], b[i])"}) {
      program.add("select(" + std::string(text) + " == " + zero + ", " + zero + ", " + text + ")",
                  dtype);
    }
    for (const char* text :
         {"isnan(bool, a[i])", "isinf(bool, a[i])", "isfinite(bool, a[i])", "a[i] == b[i]",
          "a[i] != b[i]", "a[i] < b[i]", "a[i] <= b[i]", "cast(bool, a[i])"}) {
      program.add(text, DType::kBool);
    }
    for (DType to : kIntegers) program.add("cast(" + std::string(dtype_name(to)) + ", a[i])", to);
    for (DType to : kFloats) {
      if (to != dtype) program.add("cast(" + std::string(dtype_name(to)) + ", a[i])", to);
    }
    check(program);
    if (HasFatalFailure()) return;
  }
}

// Zeros that a driver's compiler can see, as literals or after constant folding: it must divide and
// multiply by them as by other values.
TEST_P(FloatSemantics, ConstantZerosBehaveLikeOthers) {
  for (DType dtype : kFloats) {
    const std::string type = dtype_name(dtype);
    const std::vector<double> edges = float_edges(dtype);
    auto count = static_cast<int64_t>(edges.size());
    const int64_t n = count + (4 - count % 4) % 4;
    // Alone, and as four lanes around a store.
    for (const bool lanes : {false, true}) {
      Program program(dtype, n);
      for (int64_t i = 0; i < n; ++i) {
        program.arguments[0].set_f64(i, edges[static_cast<size_t>(i % count)]);
        program.arguments[1].set_f64(i, edges[static_cast<size_t>((i + 5) % count)]);
      }
      const std::string zero = type + "(0.0)", minus = type + "(-0.0)";
      const std::string none = "cast(" + type + ", i - i)";
      for (const std::string& text :
           std::vector<std::string>{"a[i] / " + zero,
                                    "a[i] / " + minus,
                                    zero + " / a[i]",
                                    minus + " / a[i]",
                                    "a[i] * " + zero,
                                    zero + " * a[i]",
                                    minus + " * a[i]",
                                    "a[i] + " + zero,
                                    zero + " + a[i]",
                                    "a[i] + " + minus,
                                    zero + " - a[i]",
                                    "a[i] - " + zero,
                                    "a[i] * " + zero + " + b[i]",
                                    "b[i] + " + zero + " * a[i]",
                                    "a[i] * b[i] + " + zero,
                                    "fma(a[i], " + zero + ", b[i])",
                                    "fma(a[i], b[i], " + zero + ")",
                                    "a[i] / (b[i] - b[i])",
                                    "a[i] / " + none,
                                    none + " / a[i]",
                                    "a[i] * " + none,
                                    "a[i] / (" + zero + " * b[i])",
                                    "(" + zero + " / " + zero + ") + a[i]",
                                    "a[i] / sqrt(" + zero + ")",
                                    "a[i] + rsqrt(" + zero + ")",
                                    "select(a[i] < b[i], a[i], " + zero + ") / " + zero}) {
        program.add(text, dtype);
      }
      for (const Program::Part& part : program.parts) {
        std::string source = program.source(part);
        if (lanes) {
          std::string body;
          // Each store in its own loop.
          for (size_t at = 0, end; at < part.body.size(); at = end + 1) {
            end = part.body.find('\n', at);
            body += "    for j in vectorized(4) {\n" + part.body.substr(at, end - at) + "\n    }\n";
          }
          for (const std::string& from : {std::string("[i]"), std::string("i - i")}) {
            const std::string to = from == "[i]" ? "[g*4 + j]" : "g - g";
            for (size_t at = 0; (at = body.find(from, at)) != std::string::npos; at += to.size()) {
              body.replace(at, from.size(), to);
            }
          }
          source = source.substr(0, source.find("  for ")) + "  for g in parallel(n//4) {\n" +
                   body + "  }\n}\n";
        }
        check(source, program.tensors(part), {program.n});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Sums, products and extrema over a whole row, as a scheduled reduction.
TEST_P(FloatSemantics, ReductionsKeepNan) {
  for (DType dtype : kFloats) {
    std::string type = dtype_name(dtype);
    std::string source = R"(
prim def k(x: Buffer((4, 1000), T), out low: Buffer((4,), T), out high: Buffer((4,), T)) {
  for r in parallel(4) {
    alloc m: Buffer((1,), T, local)
    alloc v: Buffer((1,), T, local)
    m[0] = T(inf)
    v[0] = T(-inf)
    for j in vectorized(1000) {
      m[0] = min(m[0], x[r, j])
    }
    for j in vectorized(1000) {
      v[0] = max(v[0], x[r, j])
    }
    low[r] = m[0]
    high[r] = v[0]
  }
}
)";
    for (size_t at; (at = source.find("T)")) != std::string::npos;) {
      source.replace(at, 1, type);
    }
    for (const char* tail : {"T,", "T("}) {
      for (size_t at; (at = source.find(tail)) != std::string::npos;) source.replace(at, 1, type);
    }
    HostTensor x = HostTensor::zeros(dtype, {4, 1000});
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, static_cast<double>((i * 37) % 101) - 50);
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    x.set_f64(0, kNan);
    x.set_f64(1000 + 517, kNan);
    x.set_f64(2000 + 999, kNan);
    auto found = check(source, {x, empty(dtype, 4), empty(dtype, 4)});
    for (int64_t r = 0; r < 3; ++r) EXPECT_TRUE(std::isnan(found[1].at_f64(r))) << type << r;
    EXPECT_EQ(found[1].at_f64(3), -50);
    EXPECT_EQ(found[2].at_f64(3), 50);
  }
}

// In f64 the platform's own functions, within a few ulp of the interpreter's.
TEST_P(FloatSemantics, DoublesHaveEveryFunction) {
  if (std::string(GetParam()).starts_with("vulkan")) GTEST_SKIP() << "refused";
  Program program(DType::kF64, 500);
  for (int64_t i = 0; i < program.n; ++i) {
    program.arguments[0].set_f64(i, 0.001 + 0.00199 * static_cast<double>(i));
    program.arguments[1].set_f64(i, 1.5 + 0.01 * static_cast<double>(i));
  }
  int outputs = 0;
  for (const IntrinsicInfo& info : intrinsic_table()) {
    if (!info.needs_math) continue;
    std::string name = info.name;
    program.add(name == "pow"     ? "pow(a[i], b[i])"
                : name == "acosh" ? "acosh(b[i])"
                                  : name + "(a[i])",
                DType::kF64);
    ++outputs;
  }
  ASSERT_EQ(program.parts.size(), 1);
  Module module = text::parse(program.source(program.parts[0]), "test");
  const tir::PrimFunc& func = *tir::as_prim_func(module.functions.begin()->second.get());
  int32_t kernel = device_.add_scheduled(func);
  device_.load();
  ASSERT_FALSE(HasFatalFailure());
  std::vector<HostTensor> found = program.tensors(program.parts[0]), expected;
  for (const HostTensor& argument : found) {
    expected.push_back(HostTensor::zeros(argument.dtype(), argument.shape()));
    std::copy(argument.bytes().begin(), argument.bytes().end(),
              expected.back().mutable_bytes().begin());
  }
  device_.run(kernel, found, {program.n});
  interp::run_prim_func(func, expected, {program.n});
  for (int t = 0; t < outputs; ++t) {
    for (int64_t i = 0; i < program.n; ++i) {
      double value = found[static_cast<size_t>(t) + 2].at_f64(i);
      double exact = expected[static_cast<size_t>(t) + 2].at_f64(i);
      ASSERT_NEAR(value, exact, 1e-14 * std::abs(exact) + 1e-15) << "function " << t << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, IntegerSemantics,
                         ::testing::Values("cpu", "opencl", "vulkan", "wasm"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Platforms, FloatSemantics,
                         ::testing::Values("cpu", "opencl", "vulkan", "vulkan:f16=native", "wasm"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace tapml::testing
