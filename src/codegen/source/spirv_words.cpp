#include "codegen/source/spirv_words.h"

#include <set>
#include <string_view>

#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

// Constants of the SPIR-V specification.
enum SpirvOp : uint32_t {
  kSpirvExtension = 10,
  kSpirvExtInstImport = 11,
  kSpirvMemoryModel = 14,
  kSpirvEntryPoint = 15,
  kSpirvExecutionMode = 16,
  kSpirvCapability = 17,
  kSpirvTypeVoid = 19,
  kSpirvTypeFloat = 22,
  kSpirvTypePointer = 32,
  kSpirvVariable = 59,
  kSpirvDecorate = 71,
  kSpirvMemberDecorate = 72,
  kSpirvFNegate = 127,
  kSpirvFAdd = 129,
  kSpirvFSub = 131,
  kSpirvFMul = 133,
  kSpirvFDiv = 136,
};
constexpr uint32_t kHeaderWords = 5;
constexpr uint32_t kRestrict = 19, kAliased = 20, kNoContraction = 42;
constexpr uint32_t kStorageBufferClass = 12;
constexpr uint32_t kPreserveCapability = 4466, kNearestCapability = 4467;
constexpr uint32_t kPreserveMode = 4461, kNearestMode = 4462;
constexpr std::string_view kFloatControls = "SPV_KHR_float_controls";

using SpirvWords = std::vector<uint32_t>;

void append_instruction(SpirvWords& words, uint32_t op, const SpirvWords& operands) {
  words.push_back(static_cast<uint32_t>((operands.size() + 1) << 16) | op);
  words.insert(words.end(), operands.begin(), operands.end());
}

// A string's characters, first one in the low byte, and a terminating zero.
SpirvWords literal_string(std::string_view text) {
  SpirvWords words(text.size() / 4 + 1, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    words[i / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << (8 * (i % 4));
  }
  return words;
}

bool rounds(uint32_t op) {
  return op == kSpirvFNegate || op == kSpirvFAdd || op == kSpirvFSub || op == kSpirvFMul ||
         op == kSpirvFDiv;
}

struct SpirvModule {
  explicit SpirvModule(std::span<const uint32_t> words) : words(words) {
    if (words.size() < kHeaderWords) throw_internal("a SPIR-V module without a header");
    for (size_t at = kHeaderWords; at < words.size();) {
      const uint32_t length = words[at] >> 16;
      if (length == 0 || length > words.size() - at) throw_internal("a broken SPIR-V module");
      note(words.subspan(at, length), at);
      at += length;
    }
  }

  // Records insertion points before the instruction: sections have a fixed order.
  void note(std::span<const uint32_t> instruction, size_t at) {
    const uint32_t op = instruction[0] & 0xffff;
    auto first = [at](size_t& place) {
      if (place == 0) place = at;
    };
    switch (op) {
      case kSpirvExtension:
      case kSpirvExtInstImport:
      case kSpirvMemoryModel:
        first(extensions);
        break;
      case kSpirvEntryPoint:
        main = instruction[2];
        break;
      case kSpirvExecutionMode:
        first(modes);
        break;
      case kSpirvMemberDecorate:
        first(decorations);
        if (instruction[3] == kRestrict) restricted.insert(instruction[1]);
        break;
      case kSpirvDecorate:
      case kSpirvTypeVoid:
        first(decorations);
        break;
      case kSpirvTypeFloat:
        widths.insert(instruction[2]);
        break;
      case kSpirvTypePointer:
        if (instruction[2] == kStorageBufferClass && !restricted.contains(instruction[3])) {
          buffers.insert(instruction[1]);
        }
        break;
      case kSpirvVariable:
        if (buffers.contains(instruction[1]))
          append_instruction(added, kSpirvDecorate, {instruction[2], kAliased});
        break;
      default:
        if (rounds(op)) append_instruction(added, kSpirvDecorate, {instruction[2], kNoContraction});
    }
  }

  std::span<const uint32_t> words;
  size_t extensions = 0, modes = 0, decorations = 0;
  uint32_t main = 0;
  std::set<uint32_t> widths;
  std::set<uint32_t> restricted;  // structs
  std::set<uint32_t> buffers;     // pointer types of storage buffers that may alias
  SpirvWords added;               // decorations
};

}  // namespace

std::vector<uint32_t> with_promises(std::span<const uint32_t> words) {
  const SpirvModule module(words);
  if (module.extensions == 0 || module.modes == 0 || module.decorations == 0) {
    throw_internal("a SPIR-V module without an entry point");
  }
  SpirvWords result;
  result.reserve(words.size() + module.added.size() + 32);
  auto copy = [&](size_t from, size_t to) {
    result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(from),
                  words.begin() + static_cast<std::ptrdiff_t>(to));
  };
  copy(0, module.extensions);
  if (!module.widths.empty()) {
    append_instruction(result, kSpirvCapability, {kPreserveCapability});
    append_instruction(result, kSpirvCapability, {kNearestCapability});
    append_instruction(result, kSpirvExtension, literal_string(kFloatControls));
  }
  copy(module.extensions, module.modes);
  for (uint32_t width : module.widths) {
    append_instruction(result, kSpirvExecutionMode, {module.main, kPreserveMode, width});
    append_instruction(result, kSpirvExecutionMode, {module.main, kNearestMode, width});
  }
  copy(module.modes, module.decorations);
  result.insert(result.end(), module.added.begin(), module.added.end());
  copy(module.decorations, words.size());
  return result;
}

}  // namespace tapml::codegen
