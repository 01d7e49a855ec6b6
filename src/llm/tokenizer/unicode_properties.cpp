#include "llm/tokenizer/unicode_properties.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace tapml::tokenizer {
namespace {

enum class Kind : uint8_t { kGeneral, kBinary, kScript, kFixed };

struct Entry {
  Kind kind;
  std::string_view name;
  uint32_t offset, count;              // in kRangeData, counted in ranges
  uint32_t newer_offset, newer_count;  // members added since Unicode 14
  bool grows;                          // Unicode 14 has it, and no member was removed since
};

#include "llm/tokenizer/unicode_data.inc"

// Long names of general categories, in the form that is compared.
constexpr std::pair<std::string_view, std::string_view> kGeneralNames[] = {
    {"uppercaseletter", "Lu"},    {"lowercaseletter", "Ll"},  {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},     {"otherletter", "Lo"},      {"nonspacingmark", "Mn"},
    {"spacingmark", "Mc"},        {"enclosingmark", "Me"},    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},       {"othernumber", "No"},      {"connectorpunctuation", "Pc"},
    {"dashpunctuation", "Pd"},    {"openpunctuation", "Ps"},  {"closepunctuation", "Pe"},
    {"initialpunctuation", "Pi"}, {"finalpunctuation", "Pf"}, {"otherpunctuation", "Po"},
    {"mathsymbol", "Sm"},         {"currencysymbol", "Sc"},   {"modifiersymbol", "Sk"},
    {"othersymbol", "So"},        {"spaceseparator", "Zs"},   {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"}, {"control", "Cc"},          {"format", "Cf"},
    {"privateuse", "Co"},         {"surrogate", "Cs"},
};

// Groups of general categories, by the first letters of their names.
constexpr std::pair<std::string_view, std::string_view> kGroups[] = {
    {"l", "L"},
    {"letter", "L"},
    {"m", "M"},
    {"mark", "M"},
    {"combiningmark", "M"},
    {"n", "N"},
    {"number", "N"},
    {"p", "P"},
    {"punctuation", "P"},
    {"s", "S"},
    {"symbol", "S"},
    {"z", "Z"},
    {"separator", "Z"},
};

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return out;
}

std::vector<CodeRange> stored(uint32_t offset, uint32_t count) {
  std::vector<CodeRange> ranges;
  ranges.reserve(count);
  char32_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const char32_t first = at + kRangeData[offset + 2 * i];
    at = first + kRangeData[offset + 2 * i + 1];
    ranges.push_back({first, at - 1});
  }
  return ranges;
}

UnicodeProperty read(const Entry& entry) {
  UnicodeProperty property;
  property.members = CodeSet(stored(entry.offset, entry.count));
  if (entry.grows) {
    const bool script = entry.kind == Kind::kScript;
    property.library_name = (script ? "sc:" : "") + std::string(entry.name);
    property.newer = CodeSet(stored(entry.newer_offset, entry.newer_count));
  }
  return property;
}

UnicodeProperty explicit_set(CodeSet members) { return {std::move(members), "", {}}; }

// All general categories whose short name begins with `prefix`.
UnicodeProperty group(std::string_view prefix) {
  std::vector<CodeRange> members, newer;
  const auto append = [](std::vector<CodeRange>& to, const std::vector<CodeRange>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const Entry& entry : kEntries) {
    if (entry.kind != Kind::kGeneral || !entry.name.starts_with(prefix)) continue;
    const std::vector<CodeRange> all = stored(entry.offset, entry.count);
    append(members, all);
    // If a category lost members to another one of the group, all may be new to the group.
    append(newer, entry.grows ? stored(entry.newer_offset, entry.newer_count) : all);
  }
  return {CodeSet(members), std::string(prefix), CodeSet(newer)};
}

CodeSet members_of(std::initializer_list<std::string_view> names) {
  CodeSet all;
  for (const std::string_view name : names) all = all.united(unicode_property(name)->members);
  return all;
}

// Code points without a character; surrogates do not count as characters.
CodeSet unassigned() {
  return members_of({"L", "M", "N", "P", "S", "Z", "Cc", "Cf", "Co"}).complement();
}

std::optional<CodeSet> posix_bracket(std::string_view name) {
  if (name == "alnum") return members_of({"Alphabetic", "Nd"});
  if (name == "alpha") return members_of({"Alphabetic"});
  if (name == "blank") return members_of({"Zs"}).united(CodeSet({{'\t', '\t'}}));
  if (name == "cntrl") return members_of({"Cc"});
  if (name == "digit") return members_of({"Nd"});
  if (name == "graph") return members_of({"White_Space", "Cc", "Cn"}).complement();
  if (name == "lower") return members_of({"Lowercase"});
  if (name == "print") return members_of({"graph", "Zs"});
  if (name == "punct") return members_of({"P", "S"});
  if (name == "space") return members_of({"White_Space"});
  if (name == "upper") return members_of({"Uppercase"});
  if (name == "word") return members_of({"Alphabetic", "M", "Nd", "Pc"});
  if (name == "xdigit") return CodeSet({{'0', '9'}, {'a', 'f'}, {'A', 'F'}});
  return std::nullopt;
}

}  // namespace

std::optional<UnicodeProperty> unicode_property(std::string_view name) {
  std::string wanted = plain(name);
  for (const auto& [called, prefix] : kGroups) {
    if (wanted == called) return group(prefix);
  }
  if (wanted == "any") return explicit_set(CodeSet::all());
  if (wanted == "ascii") return explicit_set(CodeSet({{0, 0x7F}}));
  if (wanted == "assigned") return explicit_set(unassigned().complement());
  if (wanted == "cn" || wanted == "unassigned") return explicit_set(unassigned());
  if (wanted == "c" || wanted == "other") {
    return explicit_set(members_of({"Cc", "Cf", "Co", "Cn"}));
  }
  if (wanted == "lc" || wanted == "l&" || wanted == "casedletter") {
    return explicit_set(members_of({"Lu", "Ll", "Lt"}));
  }
  if (auto set = posix_bracket(wanted)) return explicit_set(std::move(*set));
  for (const auto& [called, key] : kGeneralNames) {
    if (wanted == called) wanted = plain(key);
  }
  for (const Entry& entry : kEntries) {
    if (entry.kind != Kind::kFixed && plain(entry.name) == wanted) return read(entry);
  }
  return std::nullopt;
}

const CodeSet& fixed_property(FixedProperty property) {
  static const std::array<CodeSet, 5> kSets = [] {
    // In the order of the enumeration.
    constexpr std::array<std::string_view, 5> kNames = {"punctuation_8", "nonspacing_mark_8",
                                                        "control_8", "mark_9", "assigned_since_9"};
    std::array<CodeSet, 5> sets;
    for (size_t i = 0; i < sets.size(); ++i) {
      const auto* entry = std::ranges::find(kEntries, kNames[i], &Entry::name);
      sets[i] = CodeSet(stored(entry->offset, entry->count));
    }
    return sets;
  }();
  return kSets[static_cast<size_t>(property)];
}

char32_t newer_lower_case(char32_t code_point) {
  const auto* found = std::ranges::lower_bound(kNewLowerCase, code_point, {},
                                               &std::pair<char32_t, char32_t>::first);
  return found != std::end(kNewLowerCase) && found->first == code_point ? found->second
                                                                        : code_point;
}

std::string_view script_of_unicode_9(char32_t code_point) {
  struct Part {
    CodeRange range;
    std::string_view script;
  };
  static const std::vector<Part> kParts = [] {
    std::vector<Part> parts;
    for (const Entry& entry : kEntries) {
      if (entry.kind != Kind::kScript) continue;
      for (const CodeRange& range : stored(entry.offset, entry.count)) {
        parts.push_back({range, entry.name});
      }
    }
    std::ranges::sort(parts, {}, [](const Part& part) { return part.range.first; });
    return parts;
  }();
  for (const auto& [changed, script] : kScriptsOf9) {
    if (changed == code_point) return script;
  }
  if (fixed_property(FixedProperty::kAssignedSince9).contains(code_point)) return {};
  const auto after = std::ranges::upper_bound(kParts, code_point, {},
                                              [](const Part& part) { return part.range.first; });
  if (after == kParts.begin()) return {};
  const Part& part = *std::prev(after);
  return code_point <= part.range.last ? part.script : std::string_view();
}

}  // namespace tapml::tokenizer
