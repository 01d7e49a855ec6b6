// Every kernel of the published Llama shapes within the limits of every known device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "ir/exceptions.h"
#include "models/architectures/llama.h"
#include "pipeline/compile.h"
#include "schedule/rules/row_buffers.h"
#include "support/expect_error.h"
#include "support/sanitized.h"
#include "support/spirv_validation.h"
#include "target/devices.h"
#include "text/parser.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::testing {
namespace {

struct Shapes {
  const char* name;
  int64_t hidden, heads, kv_heads, head_dim, intermediate, vocabulary, context;
};

// The number of layers only changes how often a kernel is called.
constexpr Shapes kModels[] = {
    {"llama-2-7b", 4096, 32, 32, 128, 11008, 32000, 4096},
    {"llama-2-13b", 5120, 40, 40, 128, 13824, 32000, 4096},
    {"llama-2-70b", 8192, 64, 8, 128, 28672, 32000, 4096},
    {"codellama-34b", 8192, 64, 8, 128, 22016, 32000, 16384},
    {"llama-3-8b", 4096, 32, 8, 128, 14336, 128256, 8192},
    {"llama-3.2-1b", 2048, 32, 8, 64, 8192, 128256, 131072},
    {"llama-3.1-405b", 16384, 128, 8, 128, 53248, 128256, 131072},
};

Module module_of(const Shapes& shapes) {
  models::LlamaConfig config;
  config.vocabulary = shapes.vocabulary;
  config.hidden = shapes.hidden;
  config.intermediate = shapes.intermediate;
  config.layers = 1;
  config.heads = shapes.heads;
  config.kv_heads = shapes.kv_heads;
  config.head_dim = shapes.head_dim;
  config.context = shapes.context;
  return pipeline::form_kernels(
      models::build_decoder(models::llama_model(config), {.fallback = DType::kBF16}));
}

using Findings = std::vector<std::string>;

void more_than(Findings& findings, const std::string& kernel, const char* what, int64_t found,
               int64_t most) {
  if (most == 0 || found <= most) return;
  findings.push_back(kernel + ": " + what + " " + std::to_string(found) + ", at most " +
                     std::to_string(most));
}

// What a kernel's tensor program requires of a work group.
void check_groups(const std::string& kernel, const tir::PrimFunc& func, const Limits& limits,
                  Findings& findings) {
  int64_t local = 0;
  std::set<DType> exchanged;
  more_than(findings, kernel, "threads", std::max<int64_t>(func.facts.workgroup_threads, 1),
            limits.max_workgroup_threads);
  tir::visit(func.body, [&](const tir::Stmt& stmt) {
    if (stmt->kind == tir::StmtKind::kFor) {
      const auto& loop = tir::as<tir::ForNode>(stmt);
      if (loop.for_kind != tir::ForKind::kThread) return;
      more_than(findings, kernel, "threads", loop.extent->int_value, limits.max_workgroup_threads);
    }
    // The OpenCL C fallback without subgroups, in case the device has another width.
    if (stmt->kind == tir::StmtKind::kStore && tir::joins_threads(stmt)) {
      exchanged.insert(tir::as<tir::StoreNode>(stmt).buffer->dtype);
    }
    if (stmt->kind != tir::StmtKind::kAlloc) return;
    const tir::Buffer& buffer = tir::as<tir::AllocNode>(stmt).buffer;
    if (buffer->scope == tir::Scope::kShared) local += schedule::scratch_bytes(buffer);
  });
  local += 4 * static_cast<int64_t>(exchanged.size()) *
           std::max<int64_t>(func.facts.workgroup_threads, 1);
  // At least one byte, to tell devices without local memory from unknown ones.
  more_than(findings, kernel, "bytes of local memory", local,
            std::max<int64_t>(1, limits.max_local_memory));
}

// The bindings of its launches.
void check_bindings(const Executable& executable, const Limits& limits, Findings& findings) {
  for (const Implementation& implementation : executable.implementations) {
    const KernelInfo& kernel = executable.kernels[static_cast<size_t>(implementation.kernel)];
    const auto own = kernel.params.size(), scratch = implementation.workspaces.size();
    for (const LaunchInfo& launch : implementation.launches) {
      more_than(findings, kernel.name, "bindings", static_cast<int64_t>(launch.buffers.size()),
                limits.max_bindings);
      for (int32_t buffer : launch.buffers) {
        const auto index = static_cast<size_t>(buffer);
        if (index >= own + scratch) {
          more_than(findings, kernel.name, "bytes of a segment",
                    implementation.segments[index - own - scratch].bytes, limits.max_binding_bytes);
          continue;
        }
        const ParamInfo& param =
            index < own ? kernel.params[index] : implementation.workspaces[index - own];
        int64_t bytes = static_cast<int64_t>(dtype_bytes(param.dtype));
        bool is_known = true;
        for (const ScalarProgram& dim : param.dims) {
          Result<int64_t> value = evaluate(dim, {});
          is_known &= static_cast<bool>(value);
          if (value) bytes *= *value;
        }
        if (is_known) {
          more_than(findings, kernel.name, "bytes of a binding", bytes, limits.max_binding_bytes);
        }
      }
    }
  }
}

// Arithmetic on halves: they are only stored and loaded.
void check_halves(const Executable& executable, Findings& findings) {
  for (const ModuleBlob& module : executable.modules) {
    if (module.format != "opencl-c") continue;
    std::string text(reinterpret_cast<const char*>(module.bytes.data()), module.bytes.size());
    for (const char* use : {"cl_khr_fp16", "(half)", "half2", "convert_half"}) {
      if (text.find(use) != std::string::npos) findings.push_back(std::string("uses ") + use);
    }
  }
}

Findings check(const Module& fixed, const target::Target& target, const Limits& limits) {
  Findings findings;
  pipeline::ImplementOptions options;
  options.rewrite = [&](const std::string& kernel, tir::PrimFuncRef func) {
    check_groups(kernel, *func, limits, findings);
    return func;
  };
  auto executable = pipeline::implement(fixed, target, options);
  check_bindings(*executable, limits, findings);
  if (!target.description.features.compute_dtypes.contains(DType::kF16)) {
    check_halves(*executable, findings);
  }
  return findings;
}

class KnownDevice : public ::testing::TestWithParam<std::string> {};

TEST_P(KnownDevice, SupportsEveryKernelOfLlama) {
  const target::Target target = target::parse_target("opencl:for=" + GetParam());
  const Limits& limits = target.description.limits;
  for (const Shapes& shapes : kModels) {
    SCOPED_TRACE(shapes.name);
    // The segments of the token table, the tokens and the result.
    const int64_t table = shapes.vocabulary * shapes.hidden * 2;
    const bool fits = table / limits.max_binding_bytes + 3 <= limits.max_bindings;
    try {
      for (const std::string& finding : check(module_of(shapes), target, limits)) {
        ADD_FAILURE() << finding;
      }
      EXPECT_TRUE(fits) << "the table of tokens has more segments than there are bindings";
    } catch (const CompilerException& refused) {
      EXPECT_FALSE(fits) << refused.error().to_string();
      EXPECT_EQ(refused.error().fault, PlatformFault::kLimit) << refused.error().to_string();
    }
  }
}

// Capabilities that a shader requires: word 1 of each OpCapability, which come first.
std::set<uint32_t> capabilities_of(const std::vector<uint32_t>& words) {
  constexpr uint32_t kOpCapability = 17;
  std::set<uint32_t> result;
  for (size_t at = 5; at + 1 < words.size() && (words[at] & 0xffff) == kOpCapability; at += 2) {
    result.insert(words[at + 1]);
  }
  return result;
}

// The module's shaders: valid, and within the device's features. Threads and local memory are also
// read from the SPIR-V words, not only from the tensor program.
void check_shaders(const ModuleBlob& module, const target::Description& description,
                   Findings& findings) {
  constexpr uint32_t kOpExecutionMode = 16, kLocalSize = 17;
  constexpr uint32_t kFloat16 = 9, kFloat64 = 10, kGroupNonUniform = 61;
  const std::set<DType>& computes = description.features.compute_dtypes;
  const auto entries = spirv_entries(module);
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = module.entries[i];
    const std::vector<uint32_t>& words = entries[i];
    if (std::string said = spirv_complaints(words); !said.empty()) {
      findings.push_back(name + ": " + said);
    }
    const std::set<uint32_t> asks = capabilities_of(words);
    if (asks.contains(kFloat16) && !computes.contains(DType::kF16)) {
      findings.push_back(name + " computes in f16");
    }
    for (uint32_t operation : {kGroupNonUniform, kGroupNonUniform + 2, kGroupNonUniform + 4}) {
      if (asks.contains(operation) && !description.features.subgroups) {
        findings.push_back(name + " uses subgroups");
      }
    }
    if (asks.contains(kFloat64) && !computes.contains(DType::kF64)) {
      findings.push_back(name + " computes in f64");
    }
    int64_t threads = 0;
    for (size_t at = 5; at < words.size() && (words[at] >> 16) > 0; at += words[at] >> 16) {
      if ((words[at] & 0xffff) != kOpExecutionMode || words[at + 2] != kLocalSize) continue;
      threads = int64_t{words[at + 3]} * words[at + 4] * words[at + 5];
    }
    if (threads == 0) findings.push_back(name + " has no size of its groups");
    more_than(findings, name, "threads", threads, description.limits.max_workgroup_threads);
  }
  // Each part begins with the number of its words, its bindings and its push constant bytes.
  size_t at = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    auto number = [&](size_t word) {
      uint32_t value = 0;
      std::memcpy(&value, module.bytes.data() + at + 4 * word, 4);
      return int64_t{value};
    };
    constexpr int64_t kPushConstants = 128;  // on every device
    more_than(findings, module.entries[i], "bindings", number(1), description.limits.max_bindings);
    more_than(findings, module.entries[i], "bytes of push constants", number(2), kPushConstants);
    at += 4 * (3 + static_cast<size_t>(number(0)));
  }
}

class KnownDeviceShaders : public ::testing::TestWithParam<std::string> {};

// One model: the shaders of the others differ only in constants.
TEST_P(KnownDeviceShaders, AreValidAndFit) {
  const target::Target target = target::parse_target("vulkan:for=" + GetParam());
  const Shapes& shapes = kModels[0];
  ASSERT_GT(shapes.vocabulary * shapes.hidden * 2, int64_t{128} << 20) << "wants segments";
  Findings findings;
  pipeline::ImplementOptions options;
  options.rewrite = [&](const std::string& kernel, tir::PrimFuncRef func) {
    check_groups(kernel, *func, target.description.limits, findings);
    return func;
  };
  auto executable = pipeline::implement(module_of(shapes), target, options);
  check_bindings(*executable, target.description.limits, findings);
  ASSERT_EQ(executable->modules.size(), 1u);
  EXPECT_GT(executable->modules[0].entries.size(), 20u);
  check_shaders(executable->modules[0], target.description, findings);
  EXPECT_EQ(findings, Findings{});
}

TEST(KnownDevices, AShaderBeyondADeviceIsFound) {
  const target::Target rtx = target::parse_target("vulkan:for=rtx");
  Module module = text::parse(R"(module

def main(x: Tensor((n,), f64)) -> Tensor((n,), f64) {
  y: Tensor((n,), f64) = add(x, x)
  return y
}
)",
                              "f64");
  auto executable = pipeline::compile(module, rtx);
  Findings findings;
  check_shaders(executable->modules[0], rtx.description, findings);
  EXPECT_EQ(findings, Findings{});
  target::Description less = target::parse_target("vulkan:for=webgpu").description;
  less.limits.max_workgroup_threads = 32;
  less.limits.max_bindings = 1;
  check_shaders(executable->modules[0], less, findings);
  for (const char* what : {"f64", "threads", "bindings"}) {
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const std::string& finding) {
      return finding.find(what) != std::string::npos;
    })) << what;
  }
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const target::KnownDevice& device : target::known_devices()) names.push_back(device.name);
  return names;
}

// Under sanitizers the code is the same for each device: the largest groups and the smallest
// limits.
std::vector<std::string> devices_of_kernels() {
  if (kSanitized) return {"adreno-740", "webgpu"};
  return device_names();
}
INSTANTIATE_TEST_SUITE_P(All, KnownDevice, ::testing::ValuesIn(devices_of_kernels()), name_of);

// Shaders take seconds per device: the largest groups, the most and the least local memory, unless
// all are requested (TAPML_WALK=full).
std::vector<std::string> devices_of_shaders() {
  const char* mode = std::getenv("TAPML_WALK");
  if (mode && std::string(mode) == "full") return device_names();
  if (kSanitized) return {"webgpu"};
  return {"adreno-740", "rtx", "webgpu"};
}
INSTANTIATE_TEST_SUITE_P(Some, KnownDeviceShaders, ::testing::ValuesIn(devices_of_shaders()),
                         name_of);

TEST(KnownDevices, AnExceededLimitIsFound) {
  const target::Target target = target::parse_target("opencl:for=rtx");
  Limits less = target.description.limits;
  less.max_workgroup_threads = 32;
  less.max_local_memory = 1 << 10;
  less.max_bindings = 3;
  less.max_binding_bytes = 64 << 20;
  const Findings findings = check(module_of(kModels[0]), target, less);
  for (const char* what : {"threads", "local memory", "bindings", "bytes of a binding"}) {
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const std::string& finding) {
      return finding.find(what) != std::string::npos;
    })) << what;
  }
}

TEST(KnownDevices, AreOptionsOfATarget) {
  const target::Target plain = target::parse_target("opencl");
  const target::Target web = target::parse_target("opencl:for=webgpu");
  EXPECT_TRUE(plain.description.cpu_like_groups);
  EXPECT_FALSE(web.description.cpu_like_groups);
  EXPECT_EQ(web.description.limits.max_bindings, 8);
  EXPECT_EQ(web.description.limits.max_workgroup_threads, 256);
  EXPECT_FALSE(web.description.features.compute_dtypes.contains(DType::kF64));
  EXPECT_EQ(target::parse_target("vulkan:for=rtx").description.subgroup_width, 32);
  EXPECT_TRUE(target::parse_target("vulkan:subgroups=8").description.features.subgroups);
  EXPECT_FALSE(target::parse_target("vulkan:for=rtx,subgroups=0").description.features.subgroups);
  for (const char* text : {"opencl:for=abacus", "opencl:groups=many", "opencl:schedule=good"}) {
    expect_user_error([&] { target::parse_target(text); }, {"one of", text});
  }
  for (const char* text : {"vulkan:subgroups=1", "vulkan:subgroups=24", "opencl:subgroups=256"}) {
    expect_user_error([&] { target::parse_target(text); }, {"subgroups", text});
  }
}

}  // namespace
}  // namespace tapml::testing
