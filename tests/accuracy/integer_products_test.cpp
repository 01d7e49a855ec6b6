// Products of quantized activations with quantized weights: every form of weights, on every
// platform and for processors with and without instructions for bytes, against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "target/processor.h"
#include "text/parser.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

struct WeightForm {
  const char* name;
  const char* weights;  // how `w` is made of q and s (and t)
  int bits;
  bool is_whole() const { return bits == 8; }
};
const WeightForm kForms[] = {
    {"nibbles", "dequantize(q, s)", 4},
    {"nibbles_with_minimums", "dequantize_affine(q, s, t)", 4},
    {"bytes", "dequantize(q, s)", 8},
    {"bytes_with_minimums", "dequantize_affine(q, s, t)", 8},
    {"two_bits", "dequantize(q, s)", 2},
    {"three_bits_with_minimums", "dequantize_affine(q, s, t)", 3},
    {"five_bits_with_minimums", "dequantize_affine(q, s, t)", 5},
    {"six_bits", "dequantize(q, s)", 6},
};

struct IntegerCase {
  WeightForm form;
  int64_t outputs, inputs, group;
  const char* scales;
};

// Panels that are full, not full, and a single one; a group of one word and one as long as a row.
const IntegerCase kCases[] = {
    {kForms[0], 96, 128, 32, "f32"},   {kForms[0], 100, 64, 8, "f16"},
    {kForms[1], 70, 160, 32, "f32"},   {kForms[2], 129, 96, 16, "f32"},
    {kForms[2], 64, 64, 4, "bf16"},    {kForms[3], 96, 64, 64, "f16"},
    {kForms[0], 64, 11008, 32, "f32"}, {kForms[2], 64, 4096, 32, "f32"},
    {kForms[4], 96, 128, 32, "f32"},   {kForms[5], 100, 64, 16, "f16"},
    {kForms[6], 70, 160, 32, "f32"},   {kForms[7], 129, 96, 32, "f16"},
};

std::string module_text(const IntegerCase& test) {
  std::string text = R"(module {model.weights: ["q", "s", "t"]}
def main(x: Tensor((b, n, $K), f32), r: Tensor((b, n, $N), f32), q: Tensor(($N, $P), $Q),
         s: Tensor(($N, $G), $S), t: Tensor(($N, $G), $S)) -> Tensor((b, n, $N), f32) {
  dataflow {
    p: Tuple(Tensor((b, n, $K), i8), Tensor((b, n, $G), f32)) = quantize(x) {group: $C}
    l: Tensor((b, n, $K), i8) = p[0]
    c: Tensor((b, n, $G), f32) = p[1]
    v: Tensor((b, n, $K), f32) = dequantize(l, c) {group: $C}
    w: Tensor(($N, $K), f32) = $W {$Bgroup: $C}
    y: Tensor((b, n, $N), f32) = matmul(v, w) {transpose_b: true}
    z: Tensor((b, n, $N), f32) = add(y, r)
    output z
  }
  return z
})";
  const auto number = [](int64_t value) { return std::to_string(value); };
  const bool whole = test.form.is_whole();
  const std::string bits =
      whole || test.form.bits == 4 ? "" : "bits: " + number(test.form.bits) + ", ";
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"$K", number(test.inputs)},
                                   {"$N", number(test.outputs)},
                                   {"$P", number(test.inputs * test.form.bits / 8)},
                                   {"$B", bits},
                                   {"$Q", whole ? "i8" : "u8"},
                                   {"$G", number(test.inputs / test.group)},
                                   {"$S", test.scales},
                                   {"$C", number(test.group)},
                                   {"$W", test.form.weights}}) {
    for (size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
      text.replace(at, key.size(), value);
    }
  }
  return text;
}

// Integers are drawn from all that the dtype has.
HostTensor drawn_tensor(std::mt19937_64& random, DType dtype, Shape shape, double scale = 1) {
  std::normal_distribution<double> numbers(0, scale);
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double byte = static_cast<double>(random() % 256);
    tensor.set_f64(i, dtype == DType::kU8   ? byte
                      : dtype == DType::kI8 ? byte - 128
                                            : numbers(random));
  }
  return tensor;
}

// Of one row, of a few, of whole tiles and more, and of several texts.
Suite carved_products(const IntegerCase& test) {
  auto session = testing::open_session("cpu");
  auto executable =
      pipeline::compile(text::parse(module_text(test), "m.txt"), target::parse_target("cpu"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  std::mt19937_64 random(static_cast<uint64_t>(test.outputs));
  const auto uploaded = [&](const HostTensor& tensor) -> runtime::Value {
    return unwrap(runtime::upload(*session, tensor));
  };
  const DType scales = *parse_dtype(test.scales);
  const int64_t groups = test.inputs / test.group;
  std::vector<runtime::Value> weights = {
      uploaded(drawn_tensor(random, test.form.is_whole() ? DType::kI8 : DType::kU8,
                            {test.outputs, test.inputs * test.form.bits / 8})),
      uploaded(drawn_tensor(random, scales, {test.outputs, groups}, 0.02)),
      uploaded(drawn_tensor(random, scales, {test.outputs, groups}, 0.02))};
  const runtime::Value prepared = unwrap(vm->call("prepare", weights));
  weights.insert(weights.end(), prepared.tuple()->begin(), prepared.tuple()->end());
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  std::vector<std::pair<int64_t, int64_t>> rows = {{1, 1}, {1, 3}, {3, 5}, {2, 50}};
  if (test.inputs > 1000) rows = {{1, 1}, {1, 7}};
  for (const auto& [b, n] : rows) {
    std::vector<runtime::Value> args = {
        uploaded(drawn_tensor(random, DType::kF32, {b, n, test.inputs})),
        uploaded(drawn_tensor(random, DType::kF32, {b, n, test.outputs}))};
    args.insert(args.end(), weights.begin(), weights.end());
    unwrap(vm->call("main", args));
  }
  vm->call_point().set_observer(nullptr);
  Suite suite = carver.take();
  suite.source = "cpu";
  return suite;
}

// Whether the program's processor has the features of a target's text; one of another architecture
// has none of them.
bool runs_here(const std::string& features) {
  return target::host_processor().architecture == "x86-64" &&
         target::missing_feature(features, target::host_processor().features).empty();
}

std::vector<std::string> product_platforms() {
  std::vector<std::string> all = {"cpu", "opencl", "vulkan", "wasm"};
  // Instructions for products of bytes, for those that are known to be small, and for 16 bits.
  for (const char* features : {"avx2+fma", "avx2+avx512bw+avx512f+fma", "ssse3"}) {
    std::string list = std::string("+") + features;
    for (size_t at = 1; (at = list.find('+', at)) != std::string::npos; at += 2) {
      list.replace(at, 1, ",+");
    }
    if (runs_here(list)) all.push_back(std::string("cpu:features=") + features);
  }
  return all;
}

class IntegerProducts : public ::testing::TestWithParam<IntegerCase> {};

TEST_P(IntegerProducts, AgreeWithTheReferenceEverywhere) {
  const Suite suite = carved_products(GetParam());
  KernelReference reference(suite);
  for (const std::string& platform : product_platforms()) {
    SCOPED_TRACE(platform);
    auto session = testing::open_session(platform.substr(0, platform.find(':')));
    ASSERT_TRUE(session) << platform;
    auto executable = pipeline::implement(reference.module(), target::parse_target(platform));
    const bool is_integer = std::ranges::any_of(executable->implementations, [](const auto& one) {
      return one.provider == "schedule:cpu_integer";
    });
    EXPECT_EQ(is_integer, platform.starts_with("cpu") || platform == "wasm");
    auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
    for (size_t k = 0; k < suite.kernels.size(); ++k) {
      const KernelVerdict verdict =
          unwrap(replay_kernel(suite, reference, static_cast<int32_t>(k), *runner));
      EXPECT_EQ(verdict_outcome(verdict), "pass") << verdict.kernel << ": " << verdict.note;
      EXPECT_FALSE(verdict.source_wrong);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, IntegerProducts, ::testing::ValuesIn(kCases), [](const auto& info) {
  const IntegerCase& test = info.param;
  return std::string(test.form.name) + "_" + std::to_string(test.outputs) + "_" +
         std::to_string(test.inputs) + "_" + std::to_string(test.group);
});

}  // namespace
}  // namespace tapml::topdown
