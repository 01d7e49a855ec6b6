#include "llm/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/object_items.h"
#include "llm/tokenizer/unicode_properties.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// The words of GPT-2, which are ByteLevel's default.
constexpr std::string_view kByteLevelPattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

// Limit on ByteLevel steps, each of which may double a text.
constexpr int kMaxSpells = 4;

constexpr std::string_view kSpace = "\\s";
// Word characters include the two joiners.
constexpr std::string_view kWordOrSigns = "[\\w\\x{200c}\\x{200d}]+|[^\\w\\s\\x{200c}\\x{200d}]+";

// ASCII punctuation includes symbols that Unicode classifies differently ($, +, <, ...). The rest
// is from Unicode 8, which the tokenizers package uses for this.
std::string punctuation() {
  return "[!-/:-@\\[-`{-~" + fixed_property(FixedProperty::kPunctuation8).as_class_items() + "]";
}

// Joins scripts as the tokenizers package does; empty for characters that fit any script.
std::string_view joined_script(char32_t c) {
  if (c == ' ') return {};
  const std::string_view script = c == 0x30FC ? "Han" : script_of_unicode_9(c);
  return script == "Hiragana" || script == "Katakana" ? "Han" : script;
}

Result<SplitBehavior> read_behavior(const JsonObjectReader& field) {
  static constexpr std::string_view kNames[] = {"Removed", "Isolated", "MergedWithPrevious",
                                                "MergedWithNext", "Contiguous"};
  static constexpr SplitBehavior kBehaviors[] = {
      SplitBehavior::kRemoved, SplitBehavior::kIsolated, SplitBehavior::kMergedWithPrevious,
      SplitBehavior::kMergedWithNext, SplitBehavior::kContiguous};
  TAPML_ASSIGN(const std::string name, field.required_choice("behavior", kNames));
  return kBehaviors[std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames)];
}

}  // namespace

std::vector<Span> apply_behavior(const std::vector<SplitPart>& parts, SplitBehavior behavior) {
  std::vector<Span> spans;
  spans.reserve(parts.size());
  switch (behavior) {
    case SplitBehavior::kIsolated:
      for (const auto& part : parts) spans.push_back(part.span);
      break;
    case SplitBehavior::kRemoved:
      for (const auto& part : parts) {
        if (!part.is_match) spans.push_back(part.span);
      }
      break;
    case SplitBehavior::kContiguous: {
      bool previous = false;
      for (const auto& part : parts) {
        if (part.is_match == previous && !spans.empty()) {
          spans.back().end = part.span.end;
        } else {
          spans.push_back(part.span);
        }
        previous = part.is_match;
      }
      break;
    }
    case SplitBehavior::kMergedWithPrevious: {
      bool previous = false;
      for (const auto& part : parts) {
        if (part.is_match && !previous && !spans.empty()) {
          spans.back().end = part.span.end;
        } else {
          spans.push_back(part.span);
        }
        previous = part.is_match;
      }
      break;
    }
    case SplitBehavior::kMergedWithNext: {
      bool previous = false;
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->is_match && !previous && !spans.empty()) {
          spans.back().begin = part->span.begin;
        } else {
          spans.push_back(part->span);
        }
        previous = part->is_match;
      }
      std::reverse(spans.begin(), spans.end());
      break;
    }
  }
  std::erase_if(spans, [](const Span& span) { return span.begin >= span.end; });
  return spans;
}

Result<PreTokenizer> PreTokenizer::read(const JsonObjectReader& file, const RegexEngine& engine) {
  PreTokenizer result;
  TAPML_ASSIGN(const std::optional<JsonObjectReader> field, file.optional_object("pre_tokenizer"));
  if (field) TAPML_TRY(result.add(*field, engine));
  bool marks = false;
  for (const auto& step : result.steps_) {
    if (std::holds_alternative<SpellStep>(step)) result.byte_level_ = true;
    if (std::holds_alternative<MarkStep>(step)) marks = true;
  }
  if (result.byte_level_ && marks) {
    return fail(file.field_error("pre_tokenizer", "has ByteLevel and Metaspace",
                                 "one of them: spaces are either bytes or marks"));
  }
  result.ends_spelled_ =
      !result.steps_.empty() && std::holds_alternative<SpellStep>(result.steps_.back());
  if (result.ends_spelled_) result.steps_.pop_back();
  return result;
}

Status PreTokenizer::add(const JsonObjectReader& field, const RegexEngine& engine) {
  TAPML_ASSIGN(const std::string type, field.required_string("type"));
  if (type == "ByteLevel") return add_byte_level(field, engine);
  if (type == "Metaspace") return add_metaspace(field);
  if (type == "Split") return add_split(field, engine);
  if (type == "Digits") {
    TAPML_ASSIGN(const bool each, field.bool_or("individual_digits", false));
    return add_pattern("\\p{N}", each ? SplitBehavior::kIsolated : SplitBehavior::kContiguous,
                       engine);
  }
  if (type == "Punctuation") {
    auto behavior = SplitBehavior::kIsolated;
    if (field.has("behavior")) {
      TAPML_ASSIGN(behavior, read_behavior(field));
    }
    return add_pattern(punctuation(), behavior, engine);
  }
  if (type == "Whitespace") {
    return add_pattern(kWordOrSigns, SplitBehavior::kRemoved, engine, true);
  }
  if (type == "WhitespaceSplit" || type == "BertPreTokenizer") {
    TAPML_TRY(add_pattern(kSpace, SplitBehavior::kRemoved, engine));
    if (type == "WhitespaceSplit") return {};
    return add_pattern(punctuation(), SplitBehavior::kIsolated, engine);
  }
  if (type == "CharDelimiterSplit") {
    SplitStep step;
    TAPML_ASSIGN(std::string delimiter, required_character(field, "delimiter"));
    step.pattern = Pattern::literal(std::move(delimiter));
    step.behavior = SplitBehavior::kRemoved;
    steps_.push_back(std::move(step));
    return {};
  }
  if (type == "UnicodeScripts") {
    steps_.push_back(ScriptStep{});
    return {};
  }
  if (type == "Sequence") {
    TAPML_ASSIGN(const auto items, object_items(field, "pretokenizers"));
    for (const JsonObjectReader& item : items) TAPML_TRY(add(item, engine));
    return {};
  }
  return fail(field.field_error("type", "is not a supported pre-tokenizer",
                                "ByteLevel, Metaspace, Split, Digits, Punctuation, Whitespace, "
                                "WhitespaceSplit, CharDelimiterSplit, BertPreTokenizer, "
                                "UnicodeScripts or Sequence"));
}

Status PreTokenizer::add_byte_level(const JsonObjectReader& field, const RegexEngine& engine) {
  TAPML_ASSIGN(const bool add_prefix_space, field.required_bool("add_prefix_space"));
  TAPML_ASSIGN(const bool use_regex, field.bool_or("use_regex", true));
  const auto spells = std::count_if(steps_.begin(), steps_.end(), [](const auto& step) {
    return std::holds_alternative<SpellStep>(step);
  });
  if (spells >= kMaxSpells) {
    return fail(field.field_error("type", "is ByteLevel too many times",
                                  "ByteLevel at most " + std::to_string(kMaxSpells) + " times"));
  }
  if (add_prefix_space) steps_.push_back(PrefixSpaceStep{});
  if (use_regex) TAPML_TRY(add_pattern(kByteLevelPattern, SplitBehavior::kIsolated, engine));
  steps_.push_back(SpellStep{});
  return {};
}

Status PreTokenizer::add_split(const JsonObjectReader& field, const RegexEngine& engine) {
  SplitStep step;
  TAPML_ASSIGN(step.behavior, read_behavior(field));
  TAPML_ASSIGN(step.invert, field.bool_or("invert", false));
  TAPML_ASSIGN(step.pattern, Pattern::read(field, engine));
  steps_.push_back(std::move(step));
  return {};
}

Status PreTokenizer::add_metaspace(const JsonObjectReader& field) {
  TAPML_ASSIGN(MetaspaceOptions options, read_metaspace(field));
  steps_.push_back(MarkStep{options.mark, options.scheme});
  if (options.split) {
    SplitStep step;
    step.pattern = Pattern::literal(std::move(options.mark));
    step.behavior = SplitBehavior::kMergedWithNext;
    steps_.push_back(std::move(step));
  }
  return {};
}

Status PreTokenizer::add_pattern(std::string_view pattern, SplitBehavior behavior,
                                 const RegexEngine& engine, bool invert) {
  SplitStep step;
  step.behavior = behavior;
  step.invert = invert;
  TAPML_ASSIGN(step.pattern, Pattern::regex(pattern, engine));
  steps_.push_back(std::move(step));
  return {};
}

Status PreTokenizer::split_word(const SplitStep& step, std::string_view word,
                                std::vector<std::string_view>& out) {
  std::vector<Span> matches;
  TAPML_TRY(step.pattern.find_all(word, matches));
  std::vector<SplitPart> parts;
  parts.reserve(matches.size() + 1);
  size_t end = 0;
  for (const Span& match : matches) {
    if (end != match.begin) parts.push_back({{end, match.begin}, step.invert});
    parts.push_back({match, !step.invert});
    end = match.end;
  }
  if (end != word.size()) parts.push_back({{end, word.size()}, step.invert});
  for (const Span& span : apply_behavior(parts, step.behavior)) {
    out.push_back(word.substr(span.begin, span.end - span.begin));
  }
  return {};
}

// Characters before the first one with a script belong to no word.
void PreTokenizer::split_scripts(std::string_view word, std::vector<std::string_view>& out) {
  std::string_view last;
  size_t begin = std::string_view::npos;
  for (size_t at = 0; at < word.size();) {
    const Utf8Step step = next_utf8(word, at);
    const std::string_view script = joined_script(step.code_point);
    if (!script.empty() && script != last) {
      if (begin != word.npos) out.push_back(word.substr(begin, at - begin));
      begin = at;
      last = script;
    }
    at += step.length;
  }
  if (begin != word.npos) out.push_back(word.substr(begin));
}

std::string PreTokenizer::marked(const MarkStep& step, std::string_view word, bool at_start) {
  std::string out;
  const bool prepend =
      step.scheme == PrependScheme::kAlways || (step.scheme == PrependScheme::kFirst && at_start);
  if (prepend && !word.starts_with(' ') && !word.starts_with(step.mark)) out = step.mark;
  for (const char c : word) {
    if (c == ' ') {
      out += step.mark;
    } else {
      out += c;
    }
  }
  return out;
}

Result<Words> PreTokenizer::split(std::string_view text, bool at_start) const {
  Words words;
  if (!text.empty()) words.views_.push_back(text);
  std::vector<std::string_view> next;
  const auto keep = [&](std::string word) {
    words.owned_.push_back(std::move(word));
    return std::string_view(words.owned_.back());
  };
  for (const auto& step : steps_) {
    if (const auto* split = std::get_if<SplitStep>(&step)) {
      next.clear();
      for (const std::string_view word : words.views_) {
        TAPML_TRY(split_word(*split, word, next));
      }
      words.views_.swap(next);
      continue;
    }
    if (std::holds_alternative<ScriptStep>(step)) {
      next.clear();
      for (const std::string_view word : words.views_) split_scripts(word, next);
      words.views_.swap(next);
      continue;
    }
    const bool spell = std::holds_alternative<SpellStep>(step);
    const auto* mark = std::get_if<MarkStep>(&step);
    for (std::string_view& word : words.views_) {
      if (mark) {
        word = keep(marked(*mark, word, at_start && &word == words.views_.data()));
      } else if (spell) {
        word = keep(spell_bytes(word));
      } else if (!word.starts_with(' ')) {
        word = keep(" " + std::string(word));
      }
    }
  }
  if (byte_level_ && !ends_spelled_) {
    for (std::string_view& word : words.views_) {
      std::string bytes;
      unspell_bytes(word, bytes);
      word = keep(std::move(bytes));
    }
  }
  return words;
}

}  // namespace tapml::tokenizer
