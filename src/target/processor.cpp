#include "target/processor.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "base/host/cpu_features.h"
#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::target {

namespace {

// Calls `visit` with each part of `text` between separators.
template <class F>
void each_part(std::string_view text, char separator, F&& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string joined(const std::set<std::string>& features) {
  return (features.empty() ? "" : "+") + join(features, ",+");
}

bool is_known(const Architecture& architecture, std::string_view feature) {
  return std::ranges::any_of(architecture.features,
                             [&](const char* known) { return feature == known; });
}

bool is_of_cpu(const Architecture& architecture) {
  return std::string_view(architecture.platform) == "cpu";
}

std::string names_of_all() {
  return join(architectures() | std::views::filter(is_of_cpu), &Architecture::name);
}

}  // namespace

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> kArchitectures = {
      {"aarch64",
       "aarch64-unknown-linux-gnu",
       "generic",
       "aarch64linux",
       {16, 32},
       {"bf16", "dotprod", "fullfp16", "i8mm", "neon", "rdm"}},
      {"x86-64",
       "x86_64-unknown-linux-gnu",
       "x86-64",
       "elf_x86_64",
       {16, 16},
       {"adx",
        "aes",
        "avx",
        "avx2",
        "avx512bf16",
        "avx512bitalg",
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512f",
        "avx512fp16",
        "avx512ifma",
        "avx512vbmi",
        "avx512vbmi2",
        "avx512vl",
        "avx512vnni",
        "avx512vpopcntdq",
        "bmi",
        "bmi2",
        "evex512",
        "f16c",
        "fma",
        "gfni",
        "lzcnt",
        "movbe",
        "pclmul",
        "popcnt",
        "sse3",
        "sse4.1",
        "sse4.2",
        "ssse3",
        "vaes",
        "vpclmulqdq"}},
      {"wasm32",
       "wasm32-unknown-unknown",
       "mvp",
       "wasm32",
       {16, 16},
       {"bulk-memory", "mutable-globals", "nontrapping-fptoint", "sign-ext", "simd128"},
       "wasm"},
  };
  return kArchitectures;
}

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& architecture : architectures()) {
    if (name == architecture.name) return &architecture;
  }
  return nullptr;
}

VectorRegisters vector_registers(const Processor& processor) {
  const Architecture* architecture = find_architecture(processor.architecture);
  VectorRegisters vectors = architecture ? architecture->vectors : VectorRegisters();
  each_part(processor.features, ',', [&](std::string_view feature) {
    if (feature.starts_with("+avx")) vectors.bytes = std::max<int64_t>(vectors.bytes, 32);
    if (feature == "+avx512f") vectors = {64, 32};
  });
  return vectors;
}

bool has_byte_products(const Processor& processor) {
  if (processor.architecture.empty()) return false;
  if (processor.architecture != "aarch64") return true;
  return missing_feature("+dotprod", processor.features).empty() ||
         missing_feature("+i8mm", processor.features).empty();
}

const Processor& host_processor() {
  static const Processor kHost = {cpu_architecture(),
                                  joined({cpu_features().begin(), cpu_features().end()})};
  return kHost;
}

Processor parse_processor(std::string_view architecture, std::string_view features,
                          const std::string& where) {
  const Architecture* known = find_architecture(architecture);
  if (!known || !is_of_cpu(*known)) {
    throw_user("unknown processor architecture", where, "one of " + names_of_all(),
               std::string(architecture));
  }
  std::set<std::string> wanted;
  each_part(features, '+', [&](std::string_view feature) {
    if (is_known(*known, feature)) {
      wanted.emplace(feature);
      return;
    }
    throw_user("unknown feature of " + std::string(architecture), where,
               "some of " + join(known->features), std::string(feature));
  });
  return {std::string(architecture), joined(wanted)};
}

Processor processor_of(const DeviceInfo& info, const std::string& where) {
  const Architecture* known = find_architecture(info.cpu);
  if (!known || !is_of_cpu(*known)) {
    throw_platform(PlatformFault::kAbsent,
                   "the machine's processor, " + info.cpu + ", is not supported; supported are " +
                       names_of_all(),
                   where);
  }
  std::set<std::string> features;
  each_part(info.cpu_features, ',', [&](std::string_view feature) {
    if (feature.starts_with('+') && is_known(*known, feature.substr(1))) {
      features.emplace(feature.substr(1));
    }
  });
  return {info.cpu, joined(features)};
}

std::string missing_feature(std::string_view wanted, std::string_view features) {
  std::set<std::string_view> present;
  each_part(features, ',', [&](std::string_view feature) { present.insert(feature); });
  std::string missing;
  each_part(wanted, ',', [&](std::string_view feature) {
    if (missing.empty() && !present.contains(feature))
      missing = feature.substr(feature.starts_with('+'));
  });
  return missing;
}

}  // namespace tapml::target
