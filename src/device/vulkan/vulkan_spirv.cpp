#include "device/vulkan/vulkan_spirv.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tapml::device {

namespace {

constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr size_t kSpirvHeaderWords = 5;
// The opcode of functions; everything parsed here comes before the first one.
constexpr uint32_t kOpFunction = 54;
constexpr uint32_t kOpFunctionEnd = 56;
constexpr uint32_t kOpEntryPoint = 15;
constexpr uint32_t kOpExecutionMode = 16;
constexpr uint32_t kOpCapability = 17;
constexpr uint32_t kOpSpecConstant = 50;
constexpr uint32_t kOpDecorate = 71;
constexpr uint32_t kModelCompute = 5;
constexpr uint32_t kModeLocalSize = 17;
constexpr uint32_t kModeDenormPreserve = 4459;
constexpr uint32_t kDecorationSpecId = 1;
constexpr uint32_t kDecorationBinding = 33;
constexpr uint32_t kDecorationSet = 34;

// Whether literal words contain "main".
bool is_main(std::span<const uint32_t> words) {
  constexpr char kMain[8] = "main";
  return words.size() >= 2 && std::memcmp(words.data(), kMain, sizeof kMain) == 0;
}

// The header of an entry: number of words, buffers, bytes of push constants.
constexpr size_t kEntryHeaderBytes = 12;

uint32_t read_spirv_word(std::span<const std::byte> bytes, size_t offset) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= std::to_integer<uint32_t>(bytes[offset + i]) << (8 * i);
  }
  return value;
}

// Takes the next entry off a module's bytes.
Result<SpirvKernel> read_spirv_kernel(const std::string& name, std::span<const std::byte>& bytes) {
  auto truncated = [&] {
    return fail(internal_error("the SPIR-V module ends inside of kernel " + name, "vulkan"));
  };
  if (bytes.size() < kEntryHeaderBytes) return truncated();
  const size_t words = read_spirv_word(bytes, 0);
  SpirvKernel kernel;
  kernel.name = name;
  kernel.buffers = read_spirv_word(bytes, 4);
  kernel.push_bytes = read_spirv_word(bytes, 8);
  bytes = bytes.subspan(kEntryHeaderBytes);
  if (words > bytes.size() / 4) return truncated();
  kernel.words.resize(words);
  for (size_t i = 0; i < words; ++i) kernel.words[i] = read_spirv_word(bytes, 4 * i);
  bytes = bytes.subspan(4 * words);
  TAPML_ASSIGN(kernel.facts, read_spirv(kernel.words, name));
  if (kernel.facts.bindings > kernel.buffers) {
    return fail(internal_error("kernel " + name + " has binding " +
                                   std::to_string(kernel.facts.bindings - 1) + " and " +
                                   std::to_string(kernel.buffers) + " buffers",
                               "vulkan"));
  }
  if (kernel.push_bytes < 4 || kernel.push_bytes % 4 != 0) {
    return fail(internal_error(
        "kernel " + name + " has " + std::to_string(kernel.push_bytes) + " bytes of push constants",
        "vulkan"));
  }
  return kernel;
}

std::set<uint32_t> float_widths(std::span<const uint32_t> words) {
  constexpr uint32_t kOpTypeFloat = 22;
  std::set<uint32_t> widths;
  for (size_t at = kSpirvHeaderWords; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffff) == kOpTypeFloat) widths.insert(words[at + 2]);
  }
  return widths;
}

}  // namespace

Result<std::vector<SpirvKernel>> read_spirv_module(const ModuleBlob& blob) {
  std::vector<SpirvKernel> kernels;
  std::span<const std::byte> bytes(blob.bytes);
  for (const std::string& name : blob.entries) {
    TAPML_ASSIGN(SpirvKernel kernel, read_spirv_kernel(name, bytes));
    kernels.push_back(std::move(kernel));
  }
  if (!bytes.empty()) {
    return fail(internal_error("the SPIR-V module goes on for " + std::to_string(bytes.size()) +
                                   " bytes after its last kernel",
                               "vulkan"));
  }
  return kernels;
}

Result<SpirvFacts> read_spirv(std::span<const uint32_t> words, const std::string& entry) {
  auto bad = [&](const std::string& what) {
    return fail(internal_error("the SPIR-V of kernel " + entry + " " + what, "vulkan"));
  };
  if (words.size() < kSpirvHeaderWords) return bad("is shorter than its header");
  if (words[0] != kSpirvMagic) return bad("does not begin with SPIR-V's magic number");
  SpirvFacts facts;
  int entries = 0;
  bool functions = false, sized = false;
  uint32_t last = 0, width_id = 0;
  for (size_t at = kSpirvHeaderWords; at < words.size();) {
    const size_t count = words[at] >> 16;
    const uint32_t op = words[at] & 0xffff;
    if (count == 0 || count > words.size() - at) {
      return bad("is broken at word " + std::to_string(at));
    }
    std::span<const uint32_t> operands = words.subspan(at + 1, count - 1);
    at += count;
    last = op;
    // Functions are only checked to end where the module does.
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
    } else if (op == kOpSpecConstant && operands.size() >= 3 && operands[1] == width_id) {
      facts.subgroup_width = operands[2];
    } else if (op == kOpDecorate && operands.size() >= 3) {
      if (operands[1] == kDecorationSpecId) {
        if (operands[2] == 0) width_id = operands[0];
        if (operands[2] >= kFirstSizedShared &&
            operands[2] - kFirstSizedShared < kMostSharedBuffers) {
          facts.sized_shared = std::max(facts.sized_shared, operands[2] - kFirstSizedShared + 1);
        }
      }
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
  if (!sized) return bad("specifies no work group size");
  if (std::ranges::count(facts.group, 0u) > 0) return bad("has empty work groups");
  if (!facts.capabilities.contains(static_cast<uint32_t>(SpirvCapability::kGroupNonUniform))) {
    facts.subgroup_width = 0;
  }
  return facts;
}

std::vector<uint32_t> with_denormals(std::span<const uint32_t> words,
                                     const std::set<uint32_t>& more) {
  constexpr uint32_t kOpExtension = 10;
  // "SPV_KHR_float_controls", four characters per word, zero-terminated.
  static constexpr char kFloatControls[24] = "SPV_KHR_float_controls";
  const auto preserve = static_cast<uint32_t>(SpirvCapability::kDenormPreserve);
  const auto flush = static_cast<uint32_t>(SpirvCapability::kDenormFlushToZero);
  std::vector<uint32_t> result(words.begin(), words.begin() + kSpirvHeaderWords);
  const auto add = [&](uint32_t op, std::span<const uint32_t> operands) {
    result.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
    result.insert(result.end(), operands.begin(), operands.end());
  };
  std::set<uint32_t> widths = {32};
  for (uint32_t width : float_widths(words)) {
    if (more.contains(width)) widths.insert(width);
  }
  // Capabilities come first, then extensions; execution modes come after the entry points.
  add(kOpCapability, std::array{preserve});
  bool extended = false;
  for (size_t at = kSpirvHeaderWords; at < words.size();) {
    const size_t count = words[at] >> 16;
    const uint32_t op = words[at] & 0xffff;
    const auto instruction = words.subspan(at, count);
    if (op == kOpCapability && count > 1 &&
        (instruction[1] == preserve || instruction[1] == flush)) {
      return {words.begin(), words.end()};
    }
    if (op != kOpCapability && !extended) {
      std::array<uint32_t, sizeof kFloatControls / 4> name;
      std::memcpy(name.data(), kFloatControls, sizeof kFloatControls);
      add(kOpExtension, name);
      extended = true;
    }
    result.insert(result.end(), instruction.begin(), instruction.end());
    if (op == kOpEntryPoint) {
      for (uint32_t width : widths) {
        add(kOpExecutionMode, std::array{instruction[2], kModeDenormPreserve, width});
      }
    }
    at += count;
  }
  return result;
}

}  // namespace tapml::device
