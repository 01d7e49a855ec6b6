// Results of generated code for edge values, equal to the interpreter bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/rng.h"
#include "device_kernels.h"
#include "interp/interpreter.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
HostTensor tensor(DType dtype, const std::vector<T>& elements) {
  return HostTensor::from<T>(dtype, {static_cast<int64_t>(elements.size())}, elements);
}

HostTensor garbage(DType dtype, Shape shape) {
  HostTensor result = HostTensor::zeros(dtype, std::move(shape));
  for (std::byte& byte : result.mutable_bytes()) byte = std::byte{1};
  return result;
}

class Numerics : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!device_.available()) GTEST_SKIP() << GetParam() << " is unavailable";
  }

  // Runs the only function of `source`, without changes, on the device.
  std::vector<HostTensor> run(const std::string& source, std::vector<HostTensor> arguments,
                              const std::vector<int64_t>& scalars) {
    Module module = text::parse(source, "test");
    const tir::PrimFunc& func = *tir::as_prim_func(module.functions.begin()->second.get());
    int32_t kernel = device_.add_scheduled(func);
    device_.load();
    if (!HasFatalFailure()) device_.run(kernel, arguments, scalars);
    return arguments;
  }

  // Runs it in the interpreter too; all elements have equal bits, or both are NaN.
  void check(const std::string& source, const std::vector<HostTensor>& arguments,
             const std::vector<int64_t>& scalars) {
    std::vector<HostTensor> found = run(source, arguments, scalars), expected;
    for (const HostTensor& argument : arguments) {
      HostTensor copy = HostTensor::zeros(argument.dtype(), argument.shape());
      std::copy(argument.bytes().begin(), argument.bytes().end(), copy.mutable_bytes().begin());
      expected.push_back(copy);
    }
    Module module = text::parse(source, "test");
    interp::run_prim_func(*tir::as_prim_func(module.functions.begin()->second.get()), expected,
                          scalars);
    for (size_t t = 0; t < found.size(); ++t) {
      size_t width = dtype_bytes(found[t].dtype());
      for (int64_t i = 0; i < found[t].size(); ++i) {
        auto a = found[t].bytes().subspan(static_cast<size_t>(i) * width, width);
        auto b = expected[t].bytes().subspan(static_cast<size_t>(i) * width, width);
        if (std::equal(a.begin(), a.end(), b.begin())) continue;
        if (std::isnan(found[t].at_f64(i)) && std::isnan(expected[t].at_f64(i))) continue;
        ADD_FAILURE() << "tensor " << t << " element " << i << " is " << found[t].at_f64(i)
                      << ", expected " << expected[t].at_f64(i);
        return;
      }
    }
  }

  DeviceKernels device_{GetParam()};
};

TEST_P(Numerics, NarrowStoresRoundAsTheConversions) {
  std::vector<float> values = {0.0f, -0.0f, 1, -1, kInf, -kInf, kNan, -kNan, 3.4028235e38f,
                               // f16: largest, the tie to infinity, around it.
                               65504, 65519.99f, 65520, 65536, -65520,
                               // Denormals of f16 and values below the smallest, ties to even.
                               6.1035156e-05f, 6.0975552e-05f, 5.9604645e-08f, 2.9802322e-08f,
                               2.9802326e-08f, 8.940697e-08f, 1e-9f,
                               // Ties of bf16 and f16.
                               1.00390625f, 1.01171875f, 1.00048828125f, 1.00146484375f,
                               // Denormals of f32.
                               1e-40f, 1.4e-45f, -1e-39f};
  for (uint32_t bits : {0x7f7f8000u, 0x7f7fffffu, 0x00008000u, 0x00018000u, 0x00007fffu,
                        0x7fc12345u, 0xff812345u}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  RandomStream stream(3, "bits");
  while (values.size() < 20000) values.push_back(std::bit_cast<float>(stream.next()));
  auto n = static_cast<int64_t>(values.size());
  auto found = run(
      R"(
prim def k(x: Buffer((n,), f32), out b: Buffer((n,), bf16), out h: Buffer((n,), f16), n: i64) {
  for i in parallel(n) {
    b[i] = cast(bf16, x[i])
    h[i] = cast(f16, x[i])
  }
}
)",
      {tensor(DType::kF32, values), garbage(DType::kBF16, {n}), garbage(DType::kF16, {n})}, {n});
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t b = found[1].values<uint16_t>()[i], h = found[2].values<uint16_t>()[i];
    auto bits = std::bit_cast<uint32_t>(values[i]);
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(bf16_to_f32(b))) << std::hex << bits;
      ASSERT_TRUE(std::isnan(f16_to_f32(h))) << std::hex << bits;
      continue;
    }
    ASSERT_EQ(b, f32_to_bf16(values[i])) << std::hex << bits;
    ASSERT_EQ(h, f32_to_f16(values[i])) << std::hex << bits;
  }
}

TEST_P(Numerics, NarrowLoadsAreExact) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  // The interpreter holds floats in f64, where a NaN is always quiet.
  std::vector<uint16_t> quiet = all;
  for (uint16_t& bits : quiet) bits = f32_to_bf16(bf16_to_f32(bits));
  check(
      R"(
prim def k(b: Buffer((65536,), bf16), h: Buffer((65536,), f16), out x: Buffer((65536,), f32),
           out y: Buffer((65536,), f32), out z: Buffer((65536,), u16), out w: Buffer((65536,), f16)) {
  for i in parallel(65536) {
    x[i] = cast(f32, b[i])
    y[i] = cast(f32, h[i])
    z[i] = reinterpret(u16, b[i])
    w[i] = sqrt(h[i])
  }
}
)",
      {tensor(DType::kBF16, quiet), tensor(DType::kF16, all), garbage(DType::kF32, {65536}),
       garbage(DType::kF32, {65536}), garbage(DType::kU16, {65536}), garbage(DType::kF16, {65536})},
      {});
}

TEST_P(Numerics, NarrowFloatsComputeInF32) {
  std::vector<uint16_t> bits;
  RandomStream stream(5, "narrow");
  for (int i = 0; i < 3000; ++i) bits.push_back(static_cast<uint16_t>(stream.below(65536)));
  check(
      R"(
prim def k(x: Buffer((3000,), bf16), out a: Buffer((3000,), bf16), out b: Buffer((3000,), bf16),
           out c: Buffer((3000,), bf16), out d: Buffer((3000,), bool), out e: Buffer((3000,), bf16)) {
  for i in parallel(3000) {
    a[i] = sqrt(abs(x[i]))
    b[i] = x[i] * x[i] + x[i]
    c[i] = max(x[i], bf16(1.5)) - bf16(0.1)
    d[i] = isnan(bool, x[i])
    e[i] = reinterpret(bf16, reinterpret(u16, floor(x[i])))
  }
}
)",
      {tensor(DType::kBF16, bits), garbage(DType::kBF16, {3000}), garbage(DType::kBF16, {3000}),
       garbage(DType::kBF16, {3000}), garbage(DType::kBool, {3000}), garbage(DType::kBF16, {3000})},
      {});
}

TEST_P(Numerics, FloatsToIntegersSaturate) {
  std::vector<float> values = {0,
                               -0.0f,
                               0.9f,
                               -0.9f,
                               1.5f,
                               -1.5f,
                               127.9f,
                               128,
                               -128.9f,
                               -129,
                               255,
                               256,
                               32767,
                               32768,
                               -32769,
                               65535,
                               65536,
                               2147483520,
                               2147483648.0f,
                               -2147483648.0f,
                               -2147483904.0f,
                               4294967040.0f,
                               4294967296.0f,
                               9.2233715e18f,
                               9.223372e18f,
                               -9.223372e18f,
                               -1e19f,
                               1.8446743e19f,
                               1.8446744e19f,
                               1e30f,
                               -1e30f,
                               kInf,
                               -kInf,
                               kNan};
  auto n = static_cast<int64_t>(values.size());
  std::string params, body;
  std::vector<HostTensor> arguments = {tensor(DType::kF32, values)};
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                      DType::kU32, DType::kU64, DType::kBool}) {
    std::string name = dtype_name(dtype);
    params += ", out y_" + name + ": Buffer((n,), " + name + ")";
    body += "    y_" + name + "[i] = cast(" + name + ", x[i])\n";
    arguments.push_back(garbage(dtype, {n}));
  }
  check("prim def k(x: Buffer((n,), f32)" + params + ", n: i64) {\n  for i in parallel(n) {\n" +
            body + "  }\n}\n",
        arguments, {n});
}

TEST_P(Numerics, DivisionRoundsTowardMinusInfinity) {
  std::vector<int64_t> a, b;
  std::vector<int32_t> a32, b32;
  for (int64_t divisor : {-1000, -7, -3, -2, -1, 1, 2, 3, 7, 1000}) {
    for (int64_t value = -15; value <= 15; ++value) {
      a.push_back(value * 3);
      b.push_back(divisor);
      a32.push_back(static_cast<int32_t>(value * 3));
      b32.push_back(static_cast<int32_t>(divisor));
    }
  }
  auto n = static_cast<int64_t>(a.size());
  check(R"(
prim def k(a: Buffer((n,), i64), b: Buffer((n,), i64), c: Buffer((n,), i32), d: Buffer((n,), i32),
           out q: Buffer((n,), i64), out r: Buffer((n,), i64), out s: Buffer((n,), i32),
           out t: Buffer((n,), i32), out u: Buffer((n,), i64), out v: Buffer((n,), i32), n: i64) {
  for i in parallel(n) {
    q[i] = a[i] // b[i]
    r[i] = a[i] % b[i]
    s[i] = c[i] // d[i]
    t[i] = c[i] % d[i]
    u[i] = a[i] // -4 + a[i] % 5
    v[i] = abs(c[i]) // i32(4) - c[i] % i32(-5)
  }
}
)",
        {tensor(DType::kI64, a), tensor(DType::kI64, b), tensor(DType::kI32, a32),
         tensor(DType::kI32, b32), garbage(DType::kI64, {n}), garbage(DType::kI64, {n}),
         garbage(DType::kI32, {n}), garbage(DType::kI32, {n}), garbage(DType::kI64, {n}),
         garbage(DType::kI32, {n})},
        {n});
}

// The sign of a zero result is unspecified.
TEST_P(Numerics, MinAndMaxOfNanAndSignedZero) {
  std::vector<float> x, y;
  for (float a : {0.0f, -0.0f, 1.0f, -1.0f, kNan, kInf, -kInf}) {
    for (float b : {0.0f, -0.0f, 1.0f, -1.0f, kNan, kInf, -kInf}) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  auto n = static_cast<int64_t>(x.size());
  std::string source = R"(
prim def k(x: Buffer((n,), f32), y: Buffer((n,), f32), out a: Buffer((n,), f32),
           out b: Buffer((n,), f32), n: i64) {
  for i in parallel(n) {
    a[i] = let m: f32 = max(x[i], y[i]) in select(m == f32(0.0), f32(0.0), m)
    b[i] = let m: f32 = min(x[i] * f32(1.0), y[i] * f32(1.0)) in select(m == f32(0.0), f32(0.0), m)
  }
}
)";
  std::vector<HostTensor> arguments = {tensor(DType::kF32, x), tensor(DType::kF32, y),
                                       garbage(DType::kF32, {n}), garbage(DType::kF32, {n})};
  check(source, arguments, {n});
}

// Loads far out of bounds and divisions by zero trap on a CPU: code that is not selected must not
// run.
TEST_P(Numerics, OnlyTheSelectedSideIsEvaluated) {
  std::vector<int32_t> a = {7, -7, 0, 9, 5, -8}, d = {2, 0, 0, -2, 0, 3};
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  int64_t n = 6;
  check(R"(
prim def k(a: Buffer((n,), i32), d: Buffer((n,), i32), x: Buffer((n,), f32),
           out y: Buffer((n,), f32), out q: Buffer((n,), i32), out both: Buffer((n,), bool),
           out any: Buffer((n,), bool), out deep: Buffer((n,), f32), n: i64) {
  for i in parallel(n) {
    y[i] = select(i < 3, x[i], select(n < i*300000000, f32(-1.0), x[i*300000000]))
    q[i] = select(d[i] != i32(0), a[i] // d[i], i32(-1))
    both[i] = d[i] != i32(0) and a[i] % d[i] == i32(1)
    any[i] = d[i] == i32(0) or a[i] // d[i] == i32(3)
    deep[i] = select(i < 2 or 4 < i, f32(0.5), let v: f32 = x[(i - 1) % n] in max(v, v * v))
  }
}
)",
        {tensor(DType::kI32, a), tensor(DType::kI32, d), tensor(DType::kF32, x),
         garbage(DType::kF32, {n}), garbage(DType::kI32, {n}), garbage(DType::kBool, {n}),
         garbage(DType::kBool, {n}), garbage(DType::kF32, {n})},
        {n});
}

INSTANTIATE_TEST_SUITE_P(Platforms, Numerics, ::testing::Values("cpu", "opencl", "vulkan", "wasm"),
                         [](const auto& info) { return std::string(info.param); });

// A tree reduction by the threads of a work group, with more groups than run at once, so that each
// group handles several items and reuses its shared memory.
TEST(WorkGroups, ReduceThroughSharedMemory) {
  DeviceKernels device("opencl");
  if (!device.available()) GTEST_SKIP() << "opencl is unavailable";
  Module module = text::parse(R"(
prim def k(x: Buffer((n, 100), i32), out y: Buffer((n,), i32), n: i64) {workgroup_threads: 32} {
  for g in workgroup(n) {
    alloc part: Buffer((32,), i32, shared)
    for t in thread(32) {
      alloc own: Buffer((1,), i32, local)
      own[0] = i32(0)
      for j in serial(4) {
        if j*32 + t < 100 {
          own[0] = own[0] + x[g, j*32 + t]
        }
      }
      part[t] = own[0]
    }
    barrier
    for step in unrolled(5) {
      for t in thread(32) {
        if t < shift_right(16, step) {
          part[t] = part[t] + part[t + shift_right(16, step)]
        }
      }
      barrier
    }
    for t in thread(32) {
      if t == 0 {
        y[g] = part[0]
      }
    }
  }
}
)",
                              "test");
  const tir::PrimFunc& func = *tir::as_prim_func(module.find("k"));
  int32_t kernel = device.add_scheduled(func);
  device.load();
  ASSERT_FALSE(HasFatalFailure());
  for (int64_t n : {1, 3, 700}) {
    HostTensor x = HostTensor::zeros(DType::kI32, {n, 100});
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, static_cast<double>((i * 37) % 1001 - 500));
    std::vector<HostTensor> arguments = {x, garbage(DType::kI32, {n})};
    device.run(kernel, arguments, {n});
    ASSERT_FALSE(HasFatalFailure());
    for (int64_t g = 0; g < n; ++g) {
      double sum = 0;
      for (int64_t j = 0; j < 100; ++j) sum += x.at_f64(g * 100 + j);
      ASSERT_EQ(arguments[1].at_f64(g), sum) << g << " of " << n;
    }
  }
}

TEST(NativeCode, IsRefusedWhereTheCpuLacksAFeature) {
  ModuleBlob blob = codegen::compile_native({}, *target::find_description("cpu"));
  auto loader = codegen::make_jit_loader();
  EXPECT_TRUE(loader->load(blob));
  blob.features += ",-sse4a-nonsense,+nonexistent";
  auto code = loader->load(blob);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().kind, ErrorKind::kPlatform);
  EXPECT_EQ(code.error().fault, PlatformFault::kAbsent);
  EXPECT_NE(code.error().message.find("a CPU with nonexistent"), std::string::npos)
      << code.error().to_string();
}

}  // namespace
}  // namespace tapml::testing
