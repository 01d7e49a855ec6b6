// GLSL: one source, compiled once for each launch, with the launch's number as TAPML_LAUNCH.
#include <algorithm>
#include <map>
#include <set>

#include "codegen/custom/languages.h"
#include "codegen/source/spirv.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

// The interface that a shader declares.
struct ShaderFacts {
  uint32_t group[3] = {1, 1, 1};
  uint32_t bindings = 0;    // the highest binding, plus one
  uint32_t push_words = 0;  // the last member of the push constants starts at word push_words - 1
};

ShaderFacts facts_of(const std::vector<uint32_t>& words) {
  // Constants of the SPIR-V specification.
  constexpr uint32_t kExecutionMode = 16, kTypePointer = 32, kFunction = 54, kDecorate = 71,
                     kMemberDecorate = 72, kLocalSize = 17, kBinding = 33, kOffset = 35,
                     kPushConstants = 9, kHeaderWords = 5;
  ShaderFacts facts;
  std::set<uint32_t> pushed;                 // types of push constants
  std::map<uint32_t, uint32_t> last_offset;  // by type
  for (size_t at = kHeaderWords; at < words.size();) {
    const uint32_t length = words[at] >> 16, op = words[at] & 0xffff;
    if (length == 0 || length > words.size() - at) break;
    const uint32_t* w = &words[at];
    at += length;
    if (op == kExecutionMode && length >= 6 && w[2] == kLocalSize) {
      std::copy_n(w + 3, 3, facts.group);
    } else if (op == kDecorate && length >= 4 && w[2] == kBinding) {
      facts.bindings = std::max(facts.bindings, w[3] + 1);
    } else if (op == kMemberDecorate && length >= 5 && w[3] == kOffset) {
      last_offset[w[1]] = std::max(last_offset[w[1]], w[4]);
    } else if (op == kTypePointer && length >= 4 && w[2] == kPushConstants) {
      pushed.insert(w[3]);
    } else if (op == kFunction) {
      break;  // all declarations precede the first function
    }
  }
  for (uint32_t type : pushed) {
    if (auto it = last_offset.find(type); it != last_offset.end()) {
      facts.push_words = std::max(facts.push_words, it->second / 4 + 1);
    }
  }
  return facts;
}

void check_shader(const CustomSource& source, const CustomLaunch& launch,
                  const ShaderFacts& facts) {
  const std::string where = source.where(launch.line > 0 ? launch.line : source.line);
  if (facts.bindings > launch.buffers.size()) {
    throw_user("the shader has more bindings than its launch has tensors", where,
               std::to_string(launch.buffers.size()) + " at most, one a tensor of the launch",
               "binding " + std::to_string(facts.bindings - 1));
  }
  if (facts.push_words > launch.scalars.size() + 1) {
    throw_user("the shader has more push constants than its launch has scalars", where,
               "the extent and " + std::to_string(launch.scalars.size()) +
                   " scalars, 32 bits each, in the launch's order",
               std::to_string(facts.push_words) + " words");
  }
  const auto group = static_cast<uint32_t>(launch.group);
  if (facts.group[0] != group || facts.group[1] != 1 || facts.group[2] != 1) {
    throw_user("the shader's work groups do not match its launch", where,
               "local_size_x = " + std::to_string(group),
               std::to_string(facts.group[0]) + " x " + std::to_string(facts.group[1]) + " x " +
                   std::to_string(facts.group[2]),
               "set another size with `in groups of N` in the header's launch");
  }
}

ModuleBlob compile_custom_shaders(const CustomSource& source, const target::Target& target) {
  ModuleBlob blob;
  blob.platform = target.description.platform;
  blob.format = kSpirvFormat;
  for (size_t i = 0; i < source.launches.size(); ++i) {
    const CustomLaunch& launch = source.launches[i];
    std::string log;
    const std::vector<uint32_t> words =
        try_compile_glsl(source.text, source.file, {{"TAPML_LAUNCH", std::to_string(i)}}, log);
    if (words.empty()) refuse_custom_source(source, target, log);
    check_shader(source, launch, facts_of(words));
    const auto part = spirv_part(launch.buffers.size(), launch.scalars.size(), words);
    blob.bytes.insert(blob.bytes.end(), part.begin(), part.end());
  }
  return blob;
}

// One file with the shaders of all launches, selected by TAPML_LAUNCH.
std::string shaders(const std::vector<DeviceFunc>& launches, const target::Description& target) {
  constexpr std::string_view kVersion = "#version 450\n";
  if (launches.size() == 1) return emit_glsl(launches[0], target, Readers::kPeople);
  std::string text(kVersion);
  for (size_t i = 0; i < launches.size(); ++i) {
    std::string shader = emit_glsl(launches[i], target, Readers::kPeople);
    if (shader.starts_with(kVersion)) shader.erase(0, kVersion.size());
    text += (i == 0 ? "#if" : "#elif") + std::string(" TAPML_LAUNCH == ") + std::to_string(i) +
            "\n" + shader;
  }
  return text + "#endif\n";
}

class CustomGlsl : public CustomKernels {
 public:
  std::string skeleton(const std::vector<DeviceFunc>& launches,
                       const target::Target& target) const override {
    return shaders(launches, target.description);
  }
  // Every shader's entry is main.
  std::string entry(const CustomSource& source, size_t number) const override {
    return source.launches[number].entry + "/" + std::to_string(number);
  }
  ModuleBlob compile(const CustomSource& source, const target::Target& target,
                     const std::function<bool()>&) const override {
    return compile_custom_shaders(source, target);
  }
};

}  // namespace

const CustomKernels& custom_glsl() {
  static const CustomGlsl kLanguage;
  return kLanguage;
}

}  // namespace tapml::codegen
