#include "walk.h"

#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "../codegen/device_kernels.h"
#include "base/rng.h"
#include "text/parser.h"

namespace tapml::testing {

namespace {

constexpr Function kFunctions[] = {
    {"exp", std::exp},     {"exp2", std::exp2},   {"expm1", std::expm1}, {"log", std::log},
    {"log2", std::log2},   {"log10", std::log10}, {"asin", std::asin},   {"acos", std::acos},
    {"atan", std::atan},   {"sinh", std::sinh},   {"cosh", std::cosh},   {"tanh", std::tanh},
    {"asinh", std::asinh}, {"acosh", std::acosh}, {"atanh", std::atanh}, {"erf", std::erf},
    {"sin", std::sin},     {"cos", std::cos},     {"tan", std::tan},
};

constexpr int64_t kBatch = 1 << 19;
constexpr uint64_t kChunk = 4096;

// Positions whose exact error may exceed `worst`.
using Suspects = std::vector<size_t>;

#if defined(__x86_64__) && defined(__GLIBC__)
// The vector forms of the C library's functions.
#define TAPML_VECTOR_FUNCTIONS(X) \
  X(exp)                          \
  X(exp2)                         \
  X(expm1)                        \
  X(log)                          \
  X(log2)                         \
  X(log10)                        \
  X(sin)                          \
  X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf)
#define TAPML_DECLARE(name) extern "C" __m256d _ZGVdN4v_##name(__m256d);
}  // namespace
TAPML_VECTOR_FUNCTIONS(TAPML_DECLARE)
namespace {

// Values that are equal, NaN on both sides, or nearer than `worst` need no exact check. Outside
// [low, high] the function is NaN, where the vector forms are slow.
template <__m256d (*function)(__m256d)>
__attribute__((target("avx2,fma"))) void look(const float* inputs, const float* values,
                                              size_t count, double low, double high, double worst,
                                              Suspects& suspects) {
  const __m256d end = _mm256_set1_pd(0x1p128), least = _mm256_set1_pd(0x1p-126);
  const __m256d exponent = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7ff0000000000000));
  const __m256d limit = _mm256_set1_pd(worst * 0x1p-23), sign = _mm256_set1_pd(-0.0);
  for (size_t j = 0; j < count; j += 4) {
    __m256d input = _mm256_cvtps_pd(_mm_loadu_ps(inputs + j));
    __m256d outside = _mm256_or_pd(_mm256_cmp_pd(input, _mm256_set1_pd(low), _CMP_NGE_UQ),
                                   _mm256_cmp_pd(input, _mm256_set1_pd(high), _CMP_NLE_UQ));
    __m256d exact = _mm256_set1_pd(NAN);
    if (_mm256_movemask_pd(outside) != 15) {
      exact = function(_mm256_blendv_pd(input, _mm256_set1_pd(low > 0.5 ? 1.5 : 0.5), outside));
      exact = _mm256_blendv_pd(exact, _mm256_set1_pd(NAN), outside);
    }
    __m256d value = _mm256_cvtps_pd(_mm_loadu_ps(values + j));
    __m256d same = _mm256_castsi256_pd(
        _mm256_cmpeq_epi64(_mm256_castpd_si256(exact), _mm256_castpd_si256(value)));
    __m256d nan = _mm256_and_pd(_mm256_cmp_pd(exact, exact, _CMP_UNORD_Q),
                                _mm256_cmp_pd(value, value, _CMP_UNORD_Q));
    auto clamped = [&](__m256d x) __attribute__((target("avx2,fma"))) {
      return _mm256_max_pd(_mm256_sub_pd(_mm256_setzero_pd(), end), _mm256_min_pd(end, x));
    };
    exact = clamped(exact);
    __m256d distance = _mm256_andnot_pd(sign, _mm256_sub_pd(clamped(value), exact));
    __m256d unit = _mm256_max_pd(least, _mm256_and_pd(exact, exponent));
    __m256d zero = _mm256_cmp_pd(exact, _mm256_setzero_pd(), _CMP_EQ_OQ);
    __m256d near =
        _mm256_andnot_pd(zero, _mm256_cmp_pd(distance, _mm256_mul_pd(unit, limit), _CMP_LT_OQ));
    auto fine =
        static_cast<unsigned>(_mm256_movemask_pd(_mm256_or_pd(_mm256_or_pd(same, nan), near)));
    if (fine == 15) continue;
    for (size_t k = 0; k < 4; ++k) {
      if (!(fine >> k & 1)) suspects.push_back(j + k);
    }
  }
}

void find_suspects(const Function& function, const float* inputs, const float* values, size_t count,
                   double worst, Suspects& suspects) {
  struct Vector {
    const char* name;
    void (*run)(const float*, const float*, size_t, double, double, double, Suspects&);
  };
#define TAPML_ROW(name) {#name, look<_ZGVdN4v_##name>},
  static constexpr Vector kVectors[] = {TAPML_VECTOR_FUNCTIONS(TAPML_ROW)};
  size_t whole = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? count & ~3u : 0;
  for (const Vector& vector : kVectors) {
    if (std::string_view(vector.name) == function.name) {
      std::string_view name = function.name;
      bool unit = name == "asin" || name == "acos" || name == "atanh";
      double low = name.starts_with("log") ? 0 : name == "acosh" ? 1 : unit ? -1 : -HUGE_VAL;
      vector.run(inputs, values, whole, low, unit ? 1 : HUGE_VAL, worst, suspects);
    }
  }
  for (size_t j = whole; j < count; ++j) suspects.push_back(j);
}
#else
void find_suspects(const Function&, const float*, const float*, size_t count, double,
                   Suspects& suspects) {
  for (size_t j = 0; j < count; ++j) suspects.push_back(j);
}
#endif

tir::PrimFuncRef parse_one(const std::string& source) {
  Module module = text::parse(source, "math");
  return std::static_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second);
}

// The kernel creates the values from their bits.
std::string walking(const std::string& name) {
  return "prim def k(out y: Buffer((n,), f32), n: i64, start: i64, stride: i64) {\n"
         "  for i in parallel(n) {\n    y[i] = " +
         name + "(reinterpret(f32, cast(u32, start + i*stride)))\n  }\n}\n";
}

std::string timed(const std::string& name) {
  return "prim def k(x: Buffer((32, 1024), f32), out y: Buffer((32, 1024), f32)) {\n"
         "  for b in parallel(32) {\n    for r in serial(64) {\n"
         "      for i in vectorized(1024) {\n"
         "        y[b, i] = " +
         name + "(x[b, i] + cast(f32, r)*f32(0.001))\n      }\n    }\n  }\n}\n";
}

std::string pow_kernel(const std::string& type) {
  return "prim def k(a: Buffer((n,), " + type + "), b: Buffer((n,), " + type +
         "), out y: Buffer((n,), " + type +
         "), n: i64) {\n  for i in parallel(n) {\n    y[i] = pow(a[i], b[i])\n  }\n}\n";
}

class KernelReference {
 public:
  void take(double distance, float input) {
    if (distance > verdict_.max_ulp) verdict_ = {distance, input, 0};
  }
  void merge(const KernelReference& other) {
    if (other.verdict_.max_ulp > verdict_.max_ulp) verdict_ = other.verdict_;
  }
  double worst() const { return verdict_.max_ulp; }
  Verdict verdict(int64_t inputs) const { return {verdict_.max_ulp, verdict_.worst, inputs}; }

 private:
  Verdict verdict_;
};

}  // namespace

std::span<const Function> math_functions() { return kFunctions; }

double ulps(float value, double exact) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (std::isnan(exact)) return std::isnan(value) ? 0 : kInf;
  if (std::isnan(value)) return kInf;
  double given = value;
  if (given == exact) return given == 0 && std::signbit(given) != std::signbit(exact) ? kInf : 0;
  // Infinity counts as the next power of two.
  if (std::fabs(exact) > 0x1p128) exact = std::copysign(0x1p128, exact);
  if (std::isinf(given)) given = std::copysign(0x1p128, given);
  uint64_t exponent = (std::bit_cast<uint64_t>(exact) >> 52) & 0x7ff;
  // 2^(e - 23) for the exponent e of `exact`, kept within f32's.
  exponent = std::clamp<uint64_t>(exponent, 1023 - 126, 1023 + 127);
  double unit = std::bit_cast<double>((exponent - 23) << 52);
  return std::fabs(given - exact) / unit;
}

struct MathKernels::State {
  explicit State(const std::string& platform) : device(platform) {}
  DeviceKernels device;
  std::map<std::string, int32_t> walks, times;
  int32_t pow = 0;
  // For the cpu: the same functions as plain entry points.
  std::shared_ptr<runtime::HostCode> code;
  std::map<std::string, std::string> entries;
};

MathKernels::MathKernels(const std::string& platform) : state_(new State(platform)) {
  if (!state_->device.available()) return;
  for (const Function& function : kFunctions) {
    state_->walks[function.name] = state_->device.add_scheduled(*parse_one(walking(function.name)));
    state_->times[function.name] = state_->device.add_scheduled(*parse_one(timed(function.name)));
  }
  state_->pow = state_->device.add_scheduled(*parse_one(pow_kernel("f32")));
  state_->times["pow"] = state_->device.add_scheduled(*parse_one(R"(
prim def k(x: Buffer((32, 1024), f32), out y: Buffer((32, 1024), f32)) {
  for b in parallel(32) {
    for r in serial(64) {
      for i in vectorized(1024) {
        y[b, i] = pow(x[b, i], f32(1.5) + cast(f32, r)*f32(0.01))
      }
    }
  }
}
)"));
  state_->device.load();
  if (platform == "cpu") load_native();
}

void MathKernels::load_native() {
  std::vector<codegen::DeviceFunc> functions;
  for (const Function& function : kFunctions) {
    tir::PrimFuncRef func = passes::lower_math(
        *parse_one("prim def k(x: Buffer((4096,), f32), out y: Buffer((4096,), f32)) {\n"
                   "  for i in parallel(4096) {\n    y[i] = " +
                   std::string(function.name) + "(x[i])\n  }\n}\n"));
    functions.push_back(codegen::lower_prim_func(*func, function.name).launches.at(0));
    state_->entries[function.name] = functions.back().entry;
  }
  auto code = codegen::make_jit_loader()->load(
      codegen::compile_native(functions, *target::find_description("cpu")));
  ASSERT_TRUE(code) << code.error().to_string();
  state_->code = *code;
}

MathKernels::~MathKernels() = default;
bool MathKernels::available() const { return state_->device.available(); }

namespace {

void check_chunk(const Function& function, const float* inputs, const float* values, size_t count,
                 KernelReference& reference, Suspects& suspects) {
  suspects.clear();
  find_suspects(function, inputs, values, count, reference.worst() - 1e-6, suspects);
  for (size_t j : suspects) {
    reference.take(ulps(values[j], function.exact(static_cast<double>(inputs[j]))), inputs[j]);
  }
}

float input_of(uint64_t number, uint64_t stride) {
  return std::bit_cast<float>(static_cast<uint32_t>(number * stride));
}

}  // namespace

// Native code is called directly, chunk by chunk in the L1 cache.
Verdict MathKernels::walk_native(const Function& function, uint64_t stride, bool progress) {
  uint64_t total = ((uint64_t{1} << 32) + stride - 1) / stride;
  runtime::CpuKernel kernel = *state_->code->find(state_->entries.at(function.name));
  std::atomic<uint64_t> next = 0;
  KernelReference reference;
  std::mutex mutex;
  bool shows = progress && isatty(STDERR_FILENO) != 0;
  auto work = [&](bool first) {
    alignas(64) static thread_local float inputs[kChunk], values[kChunk];
    KernelReference own;
    Suspects suspects;
    constexpr uint64_t kTake = 256 * kChunk;
    for (uint64_t begin; (begin = next.fetch_add(kTake)) < total;) {
      uint64_t end = std::min(total, begin + kTake);
      for (uint64_t i = begin; i < end; i += kChunk) {
        auto count = static_cast<size_t>(std::min<uint64_t>(kChunk, end - i));
        for (size_t j = 0; j < count; ++j) inputs[j] = input_of(i + j, stride);
        void* buffers[] = {inputs, values};
        kernel(buffers, nullptr, 0, static_cast<int64_t>(count));
        check_chunk(function, inputs, values, count, own, suspects);
      }
      std::lock_guard lock(mutex);
      reference.merge(own);
      own = reference;
      if (first && shows) {
        std::fprintf(stderr, "\r%-6s %5.1f%%", function.name,
                     100.0 * static_cast<double>(end) / static_cast<double>(total));
      }
    }
  };
  std::thread other([&] { work(false); });
  work(true);
  other.join();
  if (shows) std::fprintf(stderr, "\r              \r");
  return reference.verdict(static_cast<int64_t>(total));
}

Verdict MathKernels::walk(const Function& function, uint64_t stride, bool progress) {
  if (state_->code) return walk_native(function, stride, progress);
  auto total = static_cast<int64_t>(((uint64_t{1} << 32) + stride - 1) / stride);
  KernelReference reference;
  Suspects suspects;
  for (int64_t done = 0; done < total; done += kBatch) {
    int64_t n = std::min(kBatch, total - done);
    std::vector<HostTensor> arguments = {HostTensor::zeros(DType::kF32, {n})};
    state_->device.run(state_->walks.at(function.name), arguments,
                       {n, static_cast<int64_t>(static_cast<uint64_t>(done) * stride),
                        static_cast<int64_t>(stride)});
    std::span<const float> values = std::as_const(arguments[0]).values<float>();
    std::vector<float> inputs(static_cast<size_t>(n));
    for (size_t j = 0; j < inputs.size(); ++j) {
      inputs[j] = input_of(static_cast<uint64_t>(done) + j, stride);
    }
    check_chunk(function, inputs.data(), values.data(), inputs.size(), reference, suspects);
  }
  return reference.verdict(total);
}

namespace {

float widened(uint16_t bits, DType dtype) {
  return dtype == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

uint16_t narrowed(float value, DType dtype) {
  return dtype == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
}

// Distance of `value` from `exact` in ulp of f16 or bf16; infinite if one of the two is NaN.
double narrow_ulps(float given, double exact, DType dtype) {
  double value = given;
  if (std::isnan(exact) && std::isnan(value)) return 0;
  if (value == exact) return 0;
  const bool half = dtype == DType::kF16;
  // Infinity counts as the next power of two.
  const double end = half ? 65536 : 0x1p128;
  if (std::fabs(exact) > end) exact = std::copysign(end, exact);
  if (std::isinf(value)) value = std::copysign(end, value);
  const int exponent = exact == 0 ? -1000 : std::ilogb(exact);
  const double unit = half ? std::ldexp(1, std::max(exponent, -14) - 10)
                           : std::ldexp(1, std::max(exponent, -126) - 7);
  const double distance = std::fabs(value - exact) / unit;
  return std::isnan(distance) ? HUGE_VAL : distance;
}

struct Pairs {
  std::vector<float> bases, powers;
};

// All pairs of special values, then random ones.
Pairs pairs_of_pow(int64_t count, DType dtype) {
  // Logarithm of the point where results overflow or underflow.
  const double reach = dtype == DType::kF16 ? 26 : 151;
  std::vector<float> special = {0.0f, -0.0f};
  for (float value : {1.0f,
                      0.5f,
                      1.5f,
                      2.0f,
                      3.0f,
                      4.0f,
                      0.99999994f,
                      1.0000001f,
                      16777215.0f,
                      16777216.0f,
                      16777218.0f,
                      8388607.5f,
                      1e-45f,
                      1.1754944e-38f,
                      3.4028235e38f,
                      1e-30f,
                      1e30f,
                      127.0f,
                      128.0f,
                      149.0f,
                      150.0f,
                      0.33333334f,
                      std::numeric_limits<float>::infinity()}) {
    special.push_back(value);
    special.push_back(-value);
  }
  special.push_back(std::numeric_limits<float>::quiet_NaN());
  Pairs pairs;
  for (float x : special) {
    for (float y : special) {
      pairs.bases.push_back(x);
      pairs.powers.push_back(y);
    }
  }
  RandomStream stream(23, "pow");
  auto uniform = [&] { return static_cast<double>(stream.next()) * 0x1p-32; };
  auto any_bits = [&] {
    const uint32_t bits = stream.next();
    return dtype == DType::kF32 ? std::bit_cast<float>(bits)
                                : widened(static_cast<uint16_t>(bits >> 16), dtype);
  };
  for (size_t i = pairs.bases.size(); i < static_cast<size_t>(count); ++i) {
    // Results over the whole range, near overflow and underflow, bases near 1, arbitrary bits.
    double x = std::exp2((2 * uniform() - 1) * (reach - 1)), limit = reach;
    if (i % 4 == 1) x = 1 + (uniform() - 0.5) * std::exp2(-20 * uniform());
    if (i % 4 == 2) limit = 2;
    auto base = static_cast<float>(x);
    auto power = static_cast<float>((2 * uniform() - 1) * limit / std::log2(double{base}));
    if (i % 4 == 3) {
      base = any_bits();
      power = any_bits();
    }
    pairs.bases.push_back(base);
    pairs.powers.push_back(power);
  }
  return pairs;
}

}  // namespace

Verdict MathKernels::walk_narrow(const std::string& platform, const Function& function,
                                 DType dtype) {
  std::string type = dtype_name(dtype);
  DeviceKernels device(platform);
  int32_t kernel = device.add_scheduled(*parse_one(
      "prim def k(out y: Buffer((65536,), " + type + ")) {\n  for i in parallel(65536) {\n" +
      "    y[i] = " + function.name + "(reinterpret(" + type + ", cast(u16, i)))\n  }\n}\n"));
  device.load();
  std::vector<HostTensor> arguments = {HostTensor::zeros(dtype, {65536})};
  device.run(kernel, arguments, {});
  std::span<const uint16_t> values = std::as_const(arguments[0]).values<uint16_t>();
  KernelReference reference;
  for (uint32_t i = 0; i < 65536; ++i) {
    const float input = widened(static_cast<uint16_t>(i), dtype);
    reference.take(narrow_ulps(widened(values[i], dtype), function.exact(double{input}), dtype),
                   input);
  }
  return reference.verdict(65536);
}

Verdict MathKernels::walk_narrow_pow(const std::string& platform, DType dtype, int64_t pairs) {
  const Pairs wide = pairs_of_pow(pairs, dtype);
  const auto n = static_cast<int64_t>(wide.bases.size());
  std::vector<HostTensor> arguments;
  for (const std::vector<float>* operands : {&wide.bases, &wide.powers}) {
    arguments.push_back(HostTensor::zeros(dtype, {n}));
    std::span<uint16_t> bits = arguments.back().mutable_values<uint16_t>();
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = narrowed((*operands)[i], dtype);
  }
  arguments.push_back(HostTensor::zeros(dtype, {n}));
  DeviceKernels device(platform);
  int32_t kernel = device.add_scheduled(*parse_one(pow_kernel(dtype_name(dtype))));
  device.load();
  device.run(kernel, arguments, {n});
  auto bits_of = [&](size_t tensor) { return std::as_const(arguments[tensor]).values<uint16_t>(); };
  KernelReference reference;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const float base = widened(bits_of(0)[i], dtype), power = widened(bits_of(1)[i], dtype);
    reference.take(
        narrow_ulps(widened(bits_of(2)[i], dtype), std::pow(double{base}, double{power}), dtype),
        base);
  }
  return reference.verdict(n);
}

Verdict MathKernels::walk_pow(int64_t pairs) {
  const auto [a, b] = pairs_of_pow(pairs, DType::kF32);
  auto n = static_cast<int64_t>(a.size());
  std::vector<HostTensor> arguments = {HostTensor::from<float>(DType::kF32, {n}, a),
                                       HostTensor::from<float>(DType::kF32, {n}, b),
                                       HostTensor::zeros(DType::kF32, {n})};
  state_->device.run(state_->pow, arguments, {n});
  std::span<const float> values = std::as_const(arguments[2]).values<float>();
  KernelReference reference;
  for (size_t i = 0; i < a.size(); ++i) {
    double distance = ulps(values[i], std::pow(double{a[i]}, double{b[i]}));
    if (std::isinf(distance)) {
      std::fprintf(stderr, "pow(%a, %a) = %a\n", double{a[i]}, double{b[i]}, double{values[i]});
    }
    reference.take(distance, a[i]);
  }
  return reference.verdict(n);
}

double MathKernels::seconds_per_value(const std::string& name) {
  HostTensor x = HostTensor::zeros(DType::kF32, {32, 1024});
  // Between 0 and 1, or above 1 if the function requires it.
  double offset = name == "acosh" ? 1 : 0;
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, offset + static_cast<double>(i % 900) / 1000);
  std::vector<HostTensor> arguments = {x, HostTensor::zeros(DType::kF32, {32, 1024})};
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto begin = std::chrono::steady_clock::now();
    state_->device.run(state_->times.at(name), arguments, {});
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best / (32.0 * 1024 * 64);
}

}  // namespace tapml::testing
