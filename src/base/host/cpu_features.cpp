#include "base/host/cpu_features.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>

namespace tapml {

namespace {

#if defined(__x86_64__)
// The builtin requires a literal, and also checks that the operating system saves the registers.
#define TAPML_CPU_FEATURE(name) {name, __builtin_cpu_supports(name) != 0}

std::vector<std::string> detect() {
  __builtin_cpu_init();
  struct Feature {
    const char* name;
    bool present;
  };
  const Feature known[] = {
      TAPML_CPU_FEATURE("adx"),
      TAPML_CPU_FEATURE("aes"),
      TAPML_CPU_FEATURE("avx"),
      TAPML_CPU_FEATURE("avx2"),
      TAPML_CPU_FEATURE("avx512bf16"),
      TAPML_CPU_FEATURE("avx512bitalg"),
      TAPML_CPU_FEATURE("avx512bw"),
      TAPML_CPU_FEATURE("avx512cd"),
      TAPML_CPU_FEATURE("avx512dq"),
      TAPML_CPU_FEATURE("avx512f"),
      TAPML_CPU_FEATURE("avx512fp16"),
      TAPML_CPU_FEATURE("avx512ifma"),
      TAPML_CPU_FEATURE("avx512vbmi"),
      TAPML_CPU_FEATURE("avx512vbmi2"),
      TAPML_CPU_FEATURE("avx512vl"),
      TAPML_CPU_FEATURE("avx512vnni"),
      TAPML_CPU_FEATURE("avx512vpopcntdq"),
      TAPML_CPU_FEATURE("bmi"),
      TAPML_CPU_FEATURE("bmi2"),
      TAPML_CPU_FEATURE("f16c"),
      TAPML_CPU_FEATURE("fma"),
      TAPML_CPU_FEATURE("gfni"),
      TAPML_CPU_FEATURE("lzcnt"),
      TAPML_CPU_FEATURE("movbe"),
      TAPML_CPU_FEATURE("pclmul"),
      TAPML_CPU_FEATURE("popcnt"),
      TAPML_CPU_FEATURE("sse3"),
      TAPML_CPU_FEATURE("sse4.1"),
      TAPML_CPU_FEATURE("sse4.2"),
      TAPML_CPU_FEATURE("ssse3"),
      TAPML_CPU_FEATURE("vaes"),
      TAPML_CPU_FEATURE("vpclmulqdq"),
  };
  std::vector<std::string> present;
  for (const Feature& feature : known) {
    if (feature.present) present.emplace_back(feature.name);
  }
  // LLVM's feature for 512-bit registers, which LLVM assumes for every processor with avx512f.
  if (__builtin_cpu_supports("avx512f")) present.emplace_back("evex512");
  std::sort(present.begin(), present.end());
  return present;
}

#undef TAPML_CPU_FEATURE
#elif defined(__aarch64__) && defined(__linux__)
std::vector<std::string> detect() {
  const unsigned long first = ::getauxval(AT_HWCAP), second = ::getauxval(AT_HWCAP2);
  struct Feature {
    const char* name;
    bool present;
  };
  const Feature known[] = {
      {"bf16", (second & HWCAP2_BF16) != 0},      {"dotprod", (first & HWCAP_ASIMDDP) != 0},
      {"fullfp16", (first & HWCAP_ASIMDHP) != 0}, {"i8mm", (second & HWCAP2_I8MM) != 0},
      {"neon", (first & HWCAP_ASIMD) != 0},       {"rdm", (first & HWCAP_ASIMDRDM) != 0},
  };
  std::vector<std::string> present;
  for (const Feature& feature : known) {
    if (feature.present) present.emplace_back(feature.name);
  }
  return present;
}
#else
std::vector<std::string> detect() { return {}; }
#endif

}  // namespace

const char* cpu_architecture() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv)
  return "riscv64";
#else
  return "unknown";
#endif
}

const std::vector<std::string>& cpu_features() {
  static const std::vector<std::string> kFeatures = detect();
  return kFeatures;
}

std::string missing_cpu_feature(std::string_view features) {
  while (!features.empty()) {
    size_t comma = std::min(features.find(','), features.size());
    std::string_view feature = features.substr(0, comma);
    features.remove_prefix(std::min(comma + 1, features.size()));
    if (!feature.starts_with('+')) continue;
    feature.remove_prefix(1);
    if (!std::binary_search(cpu_features().begin(), cpu_features().end(), feature)) {
      return std::string(feature);
    }
  }
  return "";
}

}  // namespace tapml
