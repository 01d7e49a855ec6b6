#include "device/vulkan/vulkan_spirv.h"

#include <algorithm>
#include <cstring>

namespace tapml::device {

namespace {

constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr size_t kSpirvHeaderWords = 5;
// The first function; all that is read here stands before it.
constexpr uint32_t kOpFunction = 54;
constexpr uint32_t kOpFunctionEnd = 56;
constexpr uint32_t kOpEntryPoint = 15;
constexpr uint32_t kOpExecutionMode = 16;
constexpr uint32_t kOpCapability = 17;
constexpr uint32_t kOpDecorate = 71;
constexpr uint32_t kModelCompute = 5;
constexpr uint32_t kModeLocalSize = 17;
constexpr uint32_t kDecorationBinding = 33;
constexpr uint32_t kDecorationSet = 34;

// Whether literal words hold "main".
bool is_main(std::span<const uint32_t> words) {
  constexpr char kMain[8] = "main";
  return words.size() >= 2 && std::memcmp(words.data(), kMain, sizeof kMain) == 0;
}

}  // namespace

Result<SpirvFacts> read_spirv(std::span<const uint32_t> words, const std::string& entry) {
  auto bad = [&](const std::string& what) {
    return fail(internal_error("the SPIR-V of kernel " + entry + " " + what, "vulkan"));
  };
  if (words.size() < kSpirvHeaderWords) return bad("is shorter than its header");
  if (words[0] != kSpirvMagic) return bad("does not begin with SPIR-V's magic number");
  SpirvFacts facts;
  int entries = 0;
  bool functions = false, sized = false;
  uint32_t last = 0;
  for (size_t at = kSpirvHeaderWords; at < words.size();) {
    const size_t count = words[at] >> 16;
    const uint32_t op = words[at] & 0xffff;
    if (count == 0 || count > words.size() - at) {
      return bad("is broken at word " + std::to_string(at));
    }
    std::span<const uint32_t> operands = words.subspan(at + 1, count - 1);
    at += count;
    last = op;
    // Functions are read only for whether their instructions end where the module does.
    functions |= op == kOpFunction;
    if (functions) continue;
    if (op == kOpCapability && !operands.empty()) {
      facts.capabilities.insert(operands[0]);
    } else if (op == kOpEntryPoint && operands.size() >= 3) {
      if (operands[0] != kModelCompute || !is_main(operands.subspan(2))) {
        return bad("has an entry point that is not a compute shader called main");
      }
      ++entries;
    } else if (op == kOpExecutionMode && operands.size() >= 5 && operands[1] == kModeLocalSize) {
      std::copy_n(operands.begin() + 2, 3, facts.group);
      sized = true;
    } else if (op == kOpDecorate && operands.size() >= 3) {
      if (operands[1] == kDecorationSet && operands[2] != 0) {
        return bad("has a descriptor of set " + std::to_string(operands[2]));
      }
      if (operands[1] == kDecorationBinding && operands[2] != UINT32_MAX) {
        facts.bindings = std::max(facts.bindings, operands[2] + 1);
      }
    }
  }
  if (entries != 1) return bad("has " + std::to_string(entries) + " entry points");
  if (!functions) return bad("has no function");
  if (last != kOpFunctionEnd) return bad("ends inside of a function");
  if (!sized) return bad("says no work group size");
  return facts;
}

}  // namespace tapml::device
