// A platform is added from outside: an entry in the table of platforms, without changes in src/.
#include <gtest/gtest.h>

#include <regex>

#include "app/executable.h"
#include "app/platforms.h"
#include "interp/interpreter.h"
#include "llm/engine.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "pipeline/kernel_cache.h"
#include "support/expect_error.h"
#include "support/golden_models.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/device_check/device_check.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/kernel_source.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/reference_run/compare.h"
#include "toy_platform.h"

namespace tapml {
namespace {

constexpr const char* kTwice = R"(module

def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = add(x, x)
    output a
  }
  return a
}
)";

class ToyPlatform : public ::testing::Test {
 protected:
  void SetUp() override { session_ = app::open_session(target_); }

  // The result of main.
  HostTensor run(const std::shared_ptr<const Executable>& executable,
                 const std::vector<HostTensor>& arguments) {
    auto vm = unwrap(session_->open_vm(executable));
    std::vector<runtime::Value> values;
    for (const HostTensor& argument : arguments) {
      values.emplace_back(unwrap(runtime::upload(*session_, argument)));
    }
    const runtime::Value result = unwrap(vm->call("main", values));
    return unwrap(runtime::download(*result.tensor()));
  }

  target::Target target_ = target::parse_target("toy", testing::with_toy_platform());
  std::unique_ptr<runtime::Session> session_;
};

HostTensor waves(Shape shape, double step) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, std::sin(step * static_cast<double>(i)));
  }
  return tensor;
}

TEST_F(ToyPlatform, AProductAndASoftmaxAgreeWithTheReference) {
  const Module module = text::parse(R"(module

def main(x: Tensor((n, 40), f32), w: Tensor((40, 24), f32)) -> Tensor((n, 24), f32) {
  dataflow {
    a: Tensor((n, 24), f32) = matmul(x, w)
    b: Tensor((n, 24), f32) = softmax(a)
    output b
  }
  return b
}
)",
                                    "m.txt");
  pipeline::check_input(module, "m.txt");
  const HostTensor x = waves({7, 40}, 0.3), w = waves({40, 24}, 0.7);
  const auto executable = pipeline::compile(module, target_);
  ASSERT_EQ(executable->modules.size(), 1u);
  EXPECT_EQ(executable->modules[0].platform, "toy");
  const HostTensor found = run(executable, {x, w});
  const interp::Value expected = interp::call(module, "main",
                                              {interp::Value::tensor(op::RefTensor::from(x)),
                                               interp::Value::tensor(op::RefTensor::from(w))});
  const topdown::Errors errors = topdown::measure(found, expected.as_tensor(), {});
  EXPECT_EQ(errors.compared, 7 * 24);
  EXPECT_TRUE(topdown::within_bound(errors)) << errors.max_ratio << " times the bound";
}

TEST_F(ToyPlatform, MeetsTheRequirementsOfEveryPlatform) {
  const auto checks = topdown::check_device(*session_, target_);
  EXPECT_GT(checks.size(), 10u);
  for (const topdown::DeviceCheck& check : checks) {
    EXPECT_TRUE(check.passed()) << check.name << ": " << check.found;
  }
}

TEST_F(ToyPlatform, TheDemoModelsLogitsAreThoseOfPyTorch) {
  const testing::GoldenModel golden = testing::golden_model("demo");
  const auto executable = pipeline::compile(golden.model.module, target_);
  auto engine = unwrap(llm::Engine::create(*session_, executable, golden.model.weights, {}));
  const HostTensor& expected = golden.reference.at("logits");
  const HostTensor logits =
      unwrap(engine->logits_all(golden.reference.at("tokens").values<int32_t>()));
  ASSERT_EQ(logits.shape(), expected.shape());
  EXPECT_LE(testing::largest_difference(logits, expected), testing::logit_tolerance(expected));
}

TEST_F(ToyPlatform, ItsSourceIsShown) {
  const Module fixed = pipeline::form_kernels(text::parse(kTwice, "m.txt"));
  const std::string kernel = pipeline::compile(fixed, target_)->kernels.at(0).name;
  const topdown::KernelSource source = topdown::kernel_source(fixed, kernel, target_, {});
  EXPECT_EQ(source.language, "toy-c");
  EXPECT_NE(source.code.find("\nkernel " + kernel), std::string::npos) << source.code;
}

// A custom kernel replaces the compiler's.
TEST_F(ToyPlatform, CustomKernelsAreCompiledAndRun) {
  const Module fixed = pipeline::form_kernels(text::parse(kTwice, "m.txt"));
  const std::string kernel = pipeline::compile(fixed, target_)->kernels.at(0).name;
  std::string text = topdown::kernel_skeleton(fixed, kernel, target_);
  EXPECT_NE(text.find("for toy, in Toy C"), std::string::npos) << text;
  // Made wrong, to show which kernel ran.
  const size_t at = text.rfind("= ");
  ASSERT_NE(at, std::string::npos);
  text.insert(at + 2, "2 + ");
  const topdown::CustomKernels user({topdown::parse_custom_source("twice.toy", text)}, fixed);
  pipeline::ImplementOptions options;
  options.foreign = user.compile(fixed, target_);
  const auto executable = pipeline::implement(fixed, target_, options);
  EXPECT_EQ(executable->implementations.at(0).provider, "user:twice.toy");
  EXPECT_NEAR(run(executable, {waves({5}, 0.5)}).at_f64(1), 2 + 2 * std::sin(0.5), 1e-6);
  testing::expect_user_error(
      [&] {
        topdown::CustomKernels({topdown::parse_custom_source("twice.toy", text + "}")}, fixed)
            .compile(fixed, target_);
      },
      {"this kernel does not compile for toy", "twice.toy"});
}

TEST_F(ToyPlatform, ItsKernelsAreKept) {
  const testing::TempFolder folder;
  DiskCache disk({folder / "cache", {}});
  pipeline::KernelCache cache(std::shared_ptr<DiskCache>(&disk, [](DiskCache*) {}));
  pipeline::ImplementOptions options;
  options.cache = &cache;
  const Module module = text::parse(kTwice, "m.txt");
  const auto first = pipeline::compile(module, target_, options);
  EXPECT_EQ(disk.misses(), 1);
  const auto second = pipeline::compile(module, target_, options);
  EXPECT_EQ(disk.hits(), 1);
  EXPECT_EQ(second->modules[0].bytes, first->modules[0].bytes);
}

TEST_F(ToyPlatform, AnExecutableIsAFile) {
  const Module fixed = pipeline::form_kernels(text::parse(kTwice, "m.txt"));
  const auto executable = pipeline::implement(fixed, target_);
  const std::vector<std::byte> bytes =
      unwrap(write_executable(app::executable_file(*executable, target_, fixed, {})));
  const ExecutableFile file = unwrap(read_executable(bytes, nullptr, "m.tapml"));
  target::Target target = app::executable_target(file, "m.tapml", {}, testing::with_toy_platform());
  EXPECT_EQ(target.description.platform, "toy");
  session_ = app::open_session(target);
  const HostTensor found =
      run(std::make_shared<const Executable>(file.executable), {waves({5}, 0.5)});
  EXPECT_NEAR(found.at_f64(1), 2 * std::sin(0.5), 1e-6);
}

TEST(PlatformTable, AnEntryIsVisibleOnlyThroughItsTable) {
  testing::expect_user_error(
      [] { target::parse_target("toy"); },
      {"unknown target \"toy\"", "one of cpu, opencl, vulkan, wasm, webgpu, null"});
  testing::expect_user_error(
      [] { target::parse_target("tpu", testing::with_toy_platform()); },
      {"unknown target \"tpu\"", "one of cpu, opencl, vulkan, wasm, webgpu, null, toy"});
  const auto all = app::list_platforms(testing::with_toy_platform());
  EXPECT_EQ(all.size(), target::platforms().size() + 1);
  EXPECT_EQ(all.back().platform, "toy");
  EXPECT_TRUE(all.back().available) << all.back().reason;
  EXPECT_EQ(all.back().info.name, "this process");
}

// The page lists the headers that the toy platform uses.
TEST(PlatformPage, ListsEveryHeaderThatThePlatformIncludes) {
  const std::string root = std::string(TAPML_SOURCE_DIR) + "/";
  const std::string page = testing::read_bytes(root + "docs/add-a-platform.md");
  const std::string code = testing::read_bytes(root + "tests/extension/toy_platform.cpp") +
                           testing::read_bytes(root + "tests/extension/toy_platform.h");
  const std::regex include("#include \"([^\"]+/[^\"]+)\"");
  int headers = 0;
  for (std::sregex_iterator it(code.begin(), code.end(), include), end; it != end; ++it) {
    const std::string header = (*it)[1];
    EXPECT_NE(page.find("`" + header + "`"), std::string::npos) << header << " is not on the page";
    ++headers;
  }
  EXPECT_GT(headers, 5);
}

}  // namespace
}  // namespace tapml
