// Custom kernels in place of the compiler's, on every platform with a language.
#include "topdown/kernels/custom_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "base/log.h"
#include "passes/kernel.h"
#include "runtime/local_virtual_machine.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

using testing::expect_user_error;
using testing::TempFolder;
using testing::write_bytes;

// Features in which loops and languages differ: sums, narrow floats and integers, portable math,
// truth values.
constexpr const char* kManyOperators = R"(module
def main(x: Tensor((n, 24), f32), w: Tensor((24,), bf16), k: Tensor((n, 24), i32)) -> Tuple(Tensor((n, 24), f32), Tensor((n, 24), f16), Tensor((n, 24), bf16), Tensor((n, 24), i32), Tensor((n, 24), i8), Tensor((n, 24), f32), Tensor((n,), i32)) {
  dataflow {
    a: Tensor((n, 24), f32) = rms_norm(x, w) {epsilon: 1e-05}
    b: Tensor((n, 24), f32) = softmax(a) {axis: -1}
    c: Tensor((n, 24), f32) = gelu(a)
    d: Tensor((n, 24), f32) = multiply(b, c)
    e: Tensor((n, 24), f16) = cast(d) {dtype: f16}
    f: Tensor((n, 24), bf16) = cast(c) {dtype: bf16}
    l: Tensor((n, 24), i32) = cumsum(k) {axis: 1}
    h: Tensor((n, 24), i32) = floor_mod(l, k)
    i: Tensor((n, 24), i8) = cast(x) {dtype: i8}
    j: Tensor((n, 24), f32) = tanh(x)
    m: Tensor((n, 24), bool) = less(x, j)
    o: Tensor((n, 24), f32) = where(m, j, x)
    p: Tensor((n,), i32) = argmax(o) {axis: 1}
    r: Tuple(Tensor((n, 24), f32), Tensor((n, 24), f16), Tensor((n, 24), bf16), Tensor((n, 24), i32), Tensor((n, 24), i8), Tensor((n, 24), f32), Tensor((n,), i32)) = (d, e, f, h, i, o, p)
    output r
  }
  return r
}
)";

// One run with 3 rows, with every operator as a kernel.
Suite carved_operators() {
  auto session = testing::open_session("cpu");
  pipeline::Instruments instruments;
  instruments.skip = {"fuse_ops"};
  const Module fixed = pipeline::form_kernels(text::parse(kManyOperators, "m.txt"), instruments);
  auto executable = pipeline::implement(fixed, target::parse_target("cpu:libs=off"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  HostTensor x = HostTensor::zeros(DType::kF32, {3, 24});
  HostTensor w = HostTensor::zeros(DType::kBF16, {24}), k = HostTensor::zeros(DType::kI32, {3, 24});
  for (int64_t i = 0; i < x.size(); ++i) {
    x.set_f64(i, 0.71 * static_cast<double>(i % 11 - 5));
    k.set_f64(i, static_cast<double>(i % 7 - 3));
  }
  x.set_f64(5, 300);  // beyond i8
  for (int64_t i = 0; i < w.size(); ++i) w.set_f64(i, 0.25 * static_cast<double>(i % 5 + 1));
  std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, x)),
                                      unwrap(runtime::upload(*session, w)),
                                      unwrap(runtime::upload(*session, k))};
  unwrap(vm->call("main", args));
  vm->call_point().set_observer(nullptr);
  return carver.take();
}

const Suite& suite() {
  static const Suite kSuite = carved_operators();
  return kSuite;
}

std::string kernel_with(const std::string& operators) {
  for (const SuiteKernel& kernel : suite().kernels) {
    if (kernel.name.starts_with(operators + "_")) return kernel.name;
  }
  ADD_FAILURE() << "no kernel " << operators;
  return "";
}

KernelVerdict compared(const std::string& kernel, const std::string& folder,
                       const std::string& platform) {
  const target::Target target = target::parse_target(platform);
  auto session = testing::open_session(platform);
  KernelReference reference(suite());
  const CustomKernels user(read_custom_sources(folder, target), reference.module());
  pipeline::ImplementOptions options;
  options.foreign = user.compile(reference.module(), target);
  user.check(options.foreign, target, *session);
  Module alone = passes::kernel_alone(reference.module(), kernel);
  alone.attrs = reference.module().attrs;
  auto executable = pipeline::implement(alone, target, options);
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  return unwrap(replay_kernel(suite(), reference, suite().find_kernel(kernel), *runner));
}

class OnPlatform : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::open_session(GetParam())) GTEST_SKIP() << GetParam() << " is absent";
  }
  std::string file(const std::string& name) const {
    return folder_ / (name + custom_source_ending(target::parse_target(GetParam())));
  }
  TempFolder folder_;
};

TEST_P(OnPlatform, SkeletonsAreCorrectUnchanged) {
  const target::Target target = target::parse_target(GetParam());
  KernelReference reference(suite());
  ASSERT_GE(suite().kernels.size(), 12u);
  for (const SuiteKernel& kernel : suite().kernels) {
    write_bytes(file(kernel.name), kernel_skeleton(reference.module(), kernel.name, target));
  }
  const CustomKernels user(read_custom_sources(folder_ / ".", target), reference.module());
  EXPECT_EQ(user.kernels().size(), suite().kernels.size());
  pipeline::ImplementOptions options;
  options.foreign = user.compile(reference.module(), target);
  auto session = testing::open_session(GetParam());
  user.check(options.foreign, target, *session);
  auto executable = pipeline::implement(reference.module(), target, options);
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  for (size_t k = 0; k < suite().kernels.size(); ++k) {
    const auto verdict =
        unwrap(replay_kernel(suite(), reference, static_cast<int32_t>(k), *runner));
    EXPECT_TRUE(verdict.passed) << verdict.kernel << ": " << verdict.failure << verdict.note;
    EXPECT_EQ(verdict.provider,
              "user:" + (folder_ / "./") + verdict.kernel + custom_source_ending(target));
  }
}

int64_t occurrences(const std::string& text, const std::string& part) {
  int64_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST_P(OnPlatform, SkeletonsContainWhatTheirKernelUses) {
  const target::Target target = target::parse_target(GetParam());
  KernelReference reference(suite());
  for (const SuiteKernel& kernel : suite().kernels) {
    const std::string text = kernel_skeleton(reference.module(), kernel.name, target);
    const std::string code = text.substr(text.rfind("Replace them."));
    static const std::regex kHexFloat("0x[0-9a-f]*\\.?[0-9a-f]*p[-+0-9]"), kHelper("tapml_\\w+\\(");
    EXPECT_FALSE(std::regex_search(code, kHexFloat)) << code;
    for (std::sregex_iterator it(code.begin(), code.end(), kHelper), end; it != end; ++it) {
      EXPECT_GE(occurrences(code, it->str()), 2) << it->str() << " is not called\n" << code;
    }
    for (const char* noise : {"#pragma", "(void)", "item_0", "_acc[", "192L", " << 0", "/ 1)"}) {
      EXPECT_EQ(code.find(noise), std::string::npos) << noise << "\n" << code;
    }
    // The code reads the scalars of its launch.
    for (size_t at = 0; (at = text.find("// launch ", at)) != std::string::npos; ++at) {
      const size_t open = text.find('(', at), close = text.find(')', open);
      const std::string words = text.substr(open, close - open);
      if (words.ends_with(", n")) {
        EXPECT_TRUE(std::regex_search(code, std::regex("[ (]n[ )]"))) << code;
      }
    }
  }
  const std::string rms = kernel_skeleton(reference.module(), kernel_with("rms_norm"), target);
  for (const char* part : {"i_n = item / 24", "i_24 = item % 24", "i_n * 24 + i_24]", "1e-05"}) {
    EXPECT_NE(rms.find(part), std::string::npos) << part << "\n" << rms;
  }
}

TEST_P(OnPlatform, AWrongKernelIsFound) {
  const target::Target target = target::parse_target(GetParam());
  KernelReference reference(suite());
  const std::string kernel = kernel_with("where");
  std::string text = kernel_skeleton(reference.module(), kernel, target);
  const std::string right = "(condition, a, b, out) over";
  ASSERT_NE(text.find(right), std::string::npos) << text;
  text.replace(text.find(right), right.size(), "(condition, b, a, out) over");
  write_bytes(file("k"), text);
  const KernelVerdict verdict = compared(kernel, folder_ / ".", GetParam());
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.failed, Failure::kNone);
  EXPECT_EQ(verdict.note, "") << "all is written";
}

TEST_P(OnPlatform, UnwrittenElementsAreCounted) {
  const target::Target target = target::parse_target(GetParam());
  KernelReference reference(suite());
  const std::string kernel = kernel_with("tanh");
  std::string text = kernel_skeleton(reference.module(), kernel, target);
  const size_t over = text.find(" over ");
  text.replace(over, text.find(" in groups", over) - over, " over n*24 - 5");
  write_bytes(file("k"), text);
  const KernelVerdict verdict = compared(kernel, folder_ / ".", GetParam());
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.note.substr(0, 12), "5 of 72 elem") << verdict.note;
}

TEST_P(OnPlatform, WritesPastAnOutputAreDetected) {
  const target::Target target = target::parse_target(GetParam());
  KernelReference reference(suite());
  const std::string kernel = kernel_with("tanh");
  std::string text = kernel_skeleton(reference.module(), kernel, target);
  const size_t over = text.find(" over ");
  text.replace(over, text.find(" in groups", over) - over, " over n*24 + 24");
  write_bytes(file("k"), text);
  const KernelVerdict verdict = compared(kernel, folder_ / ".", GetParam());
  EXPECT_EQ(verdict.failed, Failure::kOutOfBounds);
  EXPECT_NE(verdict.failure.find("after"), std::string::npos) << verdict.failure;
}

TEST_P(OnPlatform, CompileErrorsHaveFileAndLine) {
  const target::Target target = target::parse_target(GetParam());
  KernelReference reference(suite());
  const std::string kernel = kernel_with("tanh");
  std::string text = kernel_skeleton(reference.module(), kernel, target);
  const int line = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  write_bytes(file("bad"), text + "float broken = no_such_name;\n");
  const std::string name = std::filesystem::path(file("bad")).filename();
  expect_user_error([&] { compared(kernel, folder_ / ".", GetParam()); },
                    {"does not compile for " + std::string(GetParam()),
                     name + ":" + std::to_string(line), "no_such_name"});
}

TEST_P(OnPlatform, ParametersAndSignatureAreCompared) {
  const target::Target target = target::parse_target(GetParam());
  KernelReference reference(suite());
  const std::string kernel = kernel_with("rms_norm");
  const std::string text = kernel_skeleton(reference.module(), kernel, target);
  // In the header: another dtype.
  std::string wrong = text;
  wrong.replace(wrong.find("(24,), bf16"), 11, "(24,), f32 ");
  write_bytes(file("k"), wrong);
  expect_user_error([&] { compared(kernel, folder_ / ".", GetParam()); },
                    {"signature", "expected: " + kernel + "(x: Buffer((n, 24), f32), weight: ",
                     "found: " + kernel + "(x: Buffer((n, 24), f32)", "(24,), f32)"});
  // In the code: the header launches with one tensor less, or in other groups.
  wrong = text;
  const size_t launch = wrong.find("launch ");
  if (std::string(GetParam()) == "vulkan") {
    wrong.replace(wrong.find("in groups of 64", launch), 15, "in groups of 32");
  } else if (std::string(GetParam()) == "opencl") {
    wrong.replace(wrong.find("(x, ", launch), 4, "(");
  } else {
    wrong.replace(wrong.find("int64_t begin, "), 15, "");
  }
  write_bytes(file("k"), wrong);
  expect_user_error([&] { compared(kernel, folder_ / ".", GetParam()); },
                    {std::string(GetParam()) == "vulkan" ? "work groups do not match"
                                                         : "parameters of a kernel do not match"});
}

INSTANTIATE_TEST_SUITE_P(Platforms, OnPlatform, ::testing::Values("cpu", "opencl", "vulkan"),
                         [](const auto& info) { return std::string(info.param); });

// Sources for the cpu that consist only of a header, and their warnings.
CustomKernels matched(const std::vector<std::string>& names) {
  KernelReference reference(suite());
  std::vector<CustomSource> sources;
  for (const std::string& name : names) {
    sources.push_back(parse_custom_source(
        "source" + std::to_string(sources.size()) + ".c",
        "// prim def " + name +
            "(a: Buffer((rows, 24), f32), out b: Buffer((rows, 24), f32), rows: i64)\n"));
  }
  return {std::move(sources), reference.module()};
}

TEST(CustomKernels, MatchByOperatorsAndSignature) {
  const std::string tanh = kernel_with("tanh"), gelu = kernel_with("gelu");
  const CustomKernels both = matched({"tanh", gelu});
  ASSERT_EQ(both.kernels().size(), 2u);
  EXPECT_EQ(both.kernels().at(tanh)->file, "source0.c");
  EXPECT_EQ(both.kernels().at(gelu)->file, "source1.c");
  // The full name has priority over the operators.
  const CustomKernels exact = matched({"tanh", tanh}), first = matched({tanh, "tanh"});
  EXPECT_EQ(exact.kernels().at(tanh)->file, "source1.c");
  EXPECT_EQ(first.kernels().at(tanh)->file, "source0.c");
}

TEST(CustomKernels, TwoForOneKernelAreRefused) {
  expect_user_error([] { matched({"tanh", "tanh"}); },
                    {"two sources fit kernel tanh_", "source0.c and source1.c"});
}

TEST(CustomKernels, AnUnmatchedSourceIsAWarning) {
  std::vector<std::string> said;
  set_log_sink([&](LogLevel, std::string_view message) { said.emplace_back(message); });
  EXPECT_TRUE(matched({"tahn"}).empty());
  TempFolder folder;
  EXPECT_TRUE(read_custom_sources(folder / ".", target::parse_target("opencl")).empty());
  set_log_sink({});
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("no kernel is called tahn or tahn_<8 hex>"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("did you mean 'tanh_"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("no file *.cl"), std::string::npos) << said[1];
}

TEST(CustomKernels, OtherPlatformsTakeNone) {
  expect_user_error([] { read_custom_sources(".", target::parse_target("null")); },
                    {"does not support custom kernels", "cpu (C)"});
  expect_user_error([] { read_custom_sources("no/such/folder", target::parse_target("cpu")); },
                    {"no/such/folder"});
  KernelReference reference(suite());
  target::Target remote_target = target::parse_target("cpu:arch=aarch64");
  if (remote_target.description.processor.architecture == target::host_processor().architecture)
    return;
  expect_user_error([&] { matched({"tanh"}).compile(reference.module(), remote_target); },
                    {"only for this machine", "aarch64"});
}

}  // namespace
}  // namespace tapml::topdown
