#include "pipeline/kernel_cache.h"

#include <gtest/gtest.h>

#include "pipeline/compile.h"
#include "support/temp_folder.h"
#include "text/parser.h"

namespace tapml::pipeline {
namespace {

// Two layers with the same kernels.
const char* const kTwoLayers = R"(module {phase: "import", fusion_policy: "default"}

def main(x: Tensor((n, 8), f32), w: Tensor((8, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = matmul(x, w) {transpose_b: false}
    b: Tensor((n, 8), f32) = silu(a)
    c: Tensor((n, 8), f32) = matmul(b, w) {transpose_b: false}
    d: Tensor((n, 8), f32) = silu(c)
    output d
  }
  return d
}
)";

class KernelCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Executable> compile(DiskCache& disk, const char* target = "cpu") {
    KernelCache cache(std::shared_ptr<DiskCache>(&disk, [](DiskCache*) {}));
    ImplementOptions options;
    options.cache = &cache;
    return pipeline::compile(text::parse(kTwoLayers, "program"), target::parse_target(target),
                             options);
  }

  std::vector<std::string> entries() const {
    std::vector<std::string> paths;
    for (const std::string& name : testing::names_under(folder_ / "cache/v1")) {
      if (name.size() > 10) paths.push_back(folder_ / "cache/v1/" + name);
    }
    return paths;
  }

  testing::TempFolder folder_;
};

TEST_F(KernelCacheTest, EqualKernelsAreCompiledOnce) {
  DiskCache disk({folder_ / "cache", {}});
  auto first = compile(disk);
  EXPECT_EQ(first->kernels.size(), 1u);  // of both layers
  EXPECT_EQ(first->call_sites.size(), 2u);
  EXPECT_EQ(disk.misses(), 1);
  EXPECT_EQ(disk.hits(), 0);
  auto second = compile(disk);
  EXPECT_EQ(disk.hits(), 1);
  EXPECT_EQ(second->modules[0].bytes, first->modules[0].bytes);
  EXPECT_EQ(second->implementations[0].provider, first->implementations[0].provider);
  EXPECT_EQ(second->implementations[0].launches.size(), first->implementations[0].launches.size());
  // The same code without a cache.
  auto plain = pipeline::compile(text::parse(kTwoLayers, "program"), target::parse_target("cpu"));
  EXPECT_EQ(plain->modules[0].bytes, first->modules[0].bytes);
}

TEST_F(KernelCacheTest, AnotherTargetIsAnotherKey) {
  DiskCache disk({folder_ / "cache", {}});
  compile(disk);
  compile(disk, "cpu:threads=1");
  EXPECT_EQ(disk.hits(), 0);
  EXPECT_EQ(disk.misses(), 2);
  compile(disk, "opencl");  // stores nothing
  EXPECT_EQ(disk.misses(), 2);
}

// Cached and new parts make the same module as new parts only.
TEST_F(KernelCacheTest, ShadersOfVulkanAreKept) {
  DiskCache disk({folder_ / "cache", {}});
  auto first = compile(disk, "vulkan");
  EXPECT_EQ(disk.misses(), 1);
  EXPECT_EQ(compile(disk, "vulkan")->modules[0].bytes, first->modules[0].bytes);
  EXPECT_EQ(disk.hits(), 1);
  std::string more = kTwoLayers;
  more.replace(more.find("silu(c)"), 7, "tanh(c)");
  KernelCache cache(std::shared_ptr<DiskCache>(&disk, [](DiskCache*) {}));
  ImplementOptions options;
  options.cache = &cache;
  const target::Target target = target::parse_target("vulkan");
  auto mixed = pipeline::compile(text::parse(more, "program"), target, options);
  EXPECT_EQ(mixed->kernels.size(), 2u);
  EXPECT_EQ(disk.hits(), 2);
  EXPECT_EQ(disk.misses(), 2);
  auto plain = pipeline::compile(text::parse(more, "program"), target);
  EXPECT_EQ(mixed->modules[0].bytes, plain->modules[0].bytes);
  EXPECT_EQ(mixed->modules[0].entries, plain->modules[0].entries);
}

// With one module per kernel. A kernel that a rewrite may change is scheduled, the others come from
// the cache.
TEST_F(KernelCacheTest, ModulesOfOpenClAreKept) {
  DiskCache disk({folder_ / "cache", {}});
  KernelCache cache(std::shared_ptr<DiskCache>(&disk, [](DiskCache*) {}));
  ImplementOptions options;
  options.cache = &cache;
  options.module_per_kernel = true;
  const target::Target target = target::parse_target("opencl");
  std::string more = kTwoLayers;
  more.replace(more.find("silu(c)"), 7, "tanh(c)");
  const Module program = text::parse(more, "program");
  auto plain = pipeline::compile(program, target, options);
  ASSERT_EQ(plain->kernels.size(), 2u);
  ASSERT_EQ(plain->modules.size(), 2u);
  EXPECT_EQ(disk.misses(), 2);
  auto cached = pipeline::compile(program, target, options);
  EXPECT_EQ(disk.hits(), 2);
  std::vector<std::string> asked;
  options.rewrite = [&](const std::string& name, tir::PrimFuncRef func) {
    asked.push_back(name);
    return std::make_shared<tir::PrimFunc>(*func);
  };
  options.rewrites = [&](const std::string& name) { return name == plain->kernels[1].name; };
  auto mixed = pipeline::compile(program, target, options);
  EXPECT_EQ(asked, std::vector<std::string>{plain->kernels[1].name});
  EXPECT_EQ(disk.hits(), 3);
  EXPECT_EQ(disk.misses(), 2);
  for (const auto& other : {cached, mixed}) {
    ASSERT_EQ(other->modules.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(other->modules[i].bytes, plain->modules[i].bytes);
      EXPECT_EQ(other->modules[i].entries, plain->modules[i].entries);
      EXPECT_EQ(other->modules[i].platform, "opencl");
      EXPECT_EQ(other->modules[i].format, plain->modules[i].format);
      EXPECT_EQ(other->implementations[i].module, plain->implementations[i].module);
    }
  }
}

TEST_F(KernelCacheTest, ACorruptedEntryIsCompiledAgainAndReplaced) {
  std::vector<std::byte> code;
  {
    DiskCache disk({folder_ / "cache", {}});
    code = compile(disk)->modules[0].bytes;
  }
  ASSERT_EQ(entries().size(), 1u);
  const std::string path = entries()[0], good = testing::read_bytes(path);
  for (const std::string& bad :
       {good.substr(0, good.size() / 2), std::string("nonsense"), std::string(), good + "x"}) {
    testing::write_bytes(path, bad);
    DiskCache disk({folder_ / "cache", {}});
    EXPECT_EQ(compile(disk)->modules[0].bytes, code);
    EXPECT_EQ(disk.hits(), 0);
    EXPECT_EQ(testing::read_bytes(path), good);
  }
}

TEST_F(KernelCacheTest, ARewrittenKernelIsNotKept) {
  DiskCache disk({folder_ / "cache", {}});
  KernelCache cache(std::shared_ptr<DiskCache>(&disk, [](DiskCache*) {}));
  ImplementOptions options;
  options.cache = &cache;
  options.rewrite = [](const std::string&, tir::PrimFuncRef func) {
    return std::make_shared<tir::PrimFunc>(*func);
  };
  pipeline::compile(text::parse(kTwoLayers, "program"), target::parse_target("cpu"), options);
  EXPECT_EQ(disk.hits() + disk.misses(), 0);
  EXPECT_TRUE(!std::filesystem::exists(folder_ / "cache") || entries().empty());
}

TEST_F(KernelCacheTest, AKernelThatARewriteDoesNotChangeIsKept) {
  DiskCache disk({folder_ / "cache", {}});
  KernelCache cache(std::shared_ptr<DiskCache>(&disk, [](DiskCache*) {}));
  ImplementOptions options;
  options.cache = &cache;
  options.rewrite = [](const std::string&, tir::PrimFuncRef func) { return func; };
  pipeline::compile(text::parse(kTwoLayers, "program"), target::parse_target("cpu"), options);
  EXPECT_GT(disk.misses(), 0);
  const int64_t before = disk.hits();
  pipeline::compile(text::parse(kTwoLayers, "program"), target::parse_target("cpu"), options);
  EXPECT_GT(disk.hits(), before);
}

TEST_F(KernelCacheTest, TheFallbacksSchedulesAreKeptApart) {
  DiskCache disk({folder_ / "cache", {}});
  KernelCache cache(std::shared_ptr<DiskCache>(&disk, [](DiskCache*) {}));
  ImplementOptions options;
  options.cache = &cache;
  pipeline::compile(text::parse(kTwoLayers, "program"), target::parse_target("cpu"), options);
  options.scheduled_by_rules = [](const std::string&) { return false; };
  auto plain =
      pipeline::compile(text::parse(kTwoLayers, "program"), target::parse_target("cpu"), options);
  EXPECT_EQ(disk.hits(), 0);
  for (const Implementation& implementation : plain->implementations) {
    EXPECT_EQ(implementation.provider, "schedule:fallback");
  }
}

}  // namespace
}  // namespace tapml::pipeline
