// Machine code for processors that this machine does not have: the output is code for them and
// needs only their system's C library.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "codegen/llvm/native.h"
#include "passes/lower_math.h"
#include "runtime/host/shared_object.h"
#include "schedule/rules.h"
#include "support/expect_error.h"
#include "support/kernel_cases.h"

namespace tapml::testing {
namespace {

struct Machine {
  const char* target;
  uint16_t elf;
  size_t step = 1;                         // tests one kernel in this many
  std::set<std::string> of_compiler = {};  // symbols of the compiler's library
};

// The launches of one kernel in `step`, as the pipeline makes them.
std::vector<codegen::DeviceFunc> launches_of_cases(const target::Target& target, size_t step) {
  std::vector<codegen::DeviceFunc> functions;
  const std::vector<KernelProgram> kernels = kernel_cases();
  for (size_t i = 0; i < kernels.size(); i += step) {
    const KernelProgram& kernel = kernels[i];
    tir::PrimFuncRef func = passes::lower_math(*schedule::schedule_for(*kernel.func, target).func);
    const std::string name = "kernel" + std::to_string(functions.size());
    for (codegen::DeviceFunc& launch : codegen::lower_prim_func(*func, name).launches) {
      functions.push_back(std::move(launch));
    }
  }
  return functions;
}

// Symbols that a shared object defines, and undefined ones.
struct Symbols {
  std::set<std::string> defined, undefined;
};

template <class T>
T at(const ModuleBlob& blob, uint64_t offset) {
  T value = {};
  EXPECT_LE(offset + sizeof value, blob.bytes.size());
  if (offset + sizeof value <= blob.bytes.size()) {
    std::memcpy(&value, blob.bytes.data() + offset, sizeof value);
  }
  return value;
}

Symbols symbols_of(const ModuleBlob& blob) {
  Symbols symbols;
  const auto head = at<Elf64_Ehdr>(blob, 0);
  auto section = [&](uint64_t i) {
    return at<Elf64_Shdr>(blob, head.e_shoff + i * sizeof(Elf64_Shdr));
  };
  for (uint64_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM) continue;
    const uint64_t names = section(table.sh_link).sh_offset;
    for (uint64_t s = 1; s < table.sh_size / sizeof(Elf64_Sym); ++s) {
      const auto symbol = at<Elf64_Sym>(blob, table.sh_offset + s * sizeof(Elf64_Sym));
      const char* name = reinterpret_cast<const char*>(blob.bytes.data()) + names + symbol.st_name;
      (symbol.st_shndx == SHN_UNDEF ? symbols.undefined : symbols.defined).insert(name);
    }
  }
  return symbols;
}

class CrossCompiled : public ::testing::TestWithParam<Machine> {};

TEST_P(CrossCompiled, KernelsAreSharedObjectsForTheProcessor) {
  const target::Target target = target::parse_target(GetParam().target);
  const std::vector<codegen::DeviceFunc> functions = launches_of_cases(target, GetParam().step);
  const ModuleBlob blob =
      codegen::link_shared(codegen::compile_native(functions, target.description));
  EXPECT_EQ(blob.cpu, target.description.processor.architecture);
  EXPECT_EQ(blob.features, target.description.processor.features);
  EXPECT_EQ(blob.format, runtime::kSharedObjectFormat);
  const auto head = at<Elf64_Ehdr>(blob, 0);
  EXPECT_EQ(std::memcmp(head.e_ident, ELFMAG, SELFMAG), 0);
  EXPECT_EQ(head.e_ident[EI_DATA], ELFDATA2LSB);
  EXPECT_EQ(head.e_type, ET_DYN);
  EXPECT_EQ(head.e_machine, GetParam().elf);
  const Symbols symbols = symbols_of(blob);
  for (const codegen::DeviceFunc& function : functions) {
    EXPECT_TRUE(symbols.defined.contains(function.entry)) << function.entry;
  }
  // Symbols of the C library and of its f64 math.
  const std::set<std::string> known = {
      "memcpy", "memmove", "memset", "exp",  "exp2", "expm1", "log",   "log2", "log10", "log1p",
      "sin",    "cos",     "tan",    "asin", "acos", "atan",  "atan2", "sinh", "cosh",  "tanh",
      "asinh",  "acosh",   "atanh",  "erf",  "pow",  "fmod",  "fma",   "fmaf", "cbrt"};
  for (const std::string& name : symbols.undefined) {
    EXPECT_TRUE(known.contains(name) || GetParam().of_compiler.contains(name))
        << name << " is left to whoever loads the kernels";
  }
}

TEST_P(CrossCompiled, IsRefusedByAnotherProcessor) {
  const target::Target target = target::parse_target(GetParam().target);
  const ModuleBlob blob = codegen::compile_native({}, target.description);
  if (blob.cpu == target::host_processor().architecture)
    GTEST_SKIP() << "the architecture is that of the host";
  for (const ModuleBlob& one : {blob, codegen::link_shared(blob)}) {
    auto code = codegen::make_jit_loader()->load(one);
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().fault, PlatformFault::kAbsent);
    expect_parts(code.error(), {"built for " + blob.cpu, target::host_processor().architecture});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Processors, CrossCompiled,
    ::testing::Values(Machine{"cpu:arch=aarch64", EM_AARCH64},
                      Machine{"cpu:arch=aarch64,features=bf16+dotprod+fullfp16+i8mm+neon+rdm",
                              EM_AARCH64, 3},
                      Machine{"cpu:arch=x86-64", EM_X86_64, 5, {"__extendhfsf2", "__truncsfhf2"}}),
    [](const auto& info) {
      std::string name = std::to_string(info.index) + "_" + info.param.target;
      std::ranges::replace_if(name, [](unsigned char c) { return !std::isalnum(c); }, '_');
      return name;
    });

TEST(NativeCode, AnUnknownArchitectureIsAPlatformError) {
  target::Description description = *target::find_description("cpu");
  description.processor = {"riscv64", ""};
  expect_platform_error([&] { codegen::compile_native({}, description); }, PlatformFault::kAbsent,
                        {"riscv64"});
}

}  // namespace
}  // namespace tapml::testing
