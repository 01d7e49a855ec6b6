#include "llm/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/object_items.h"

namespace tapml::tokenizer {
namespace {

// The words of GPT-2, which ByteLevel uses unless told otherwise.
constexpr std::string_view kByteLevelPattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

// ASCII punctuation holds symbols that Unicode counts as something else ($, +, <, ...).
constexpr std::string_view kPunctuation = "[!-/:-@\\[-`{-~\\p{P}]";

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
  const bool byte_level =
      std::any_of(result.steps_.begin(), result.steps_.end(),
                  [](const auto& step) { return std::holds_alternative<SpellStep>(step); });
  if (!byte_level) {
    return fail(file.field_error("pre_tokenizer",
                                 "has no ByteLevel: the tokenizer is not byte-level",
                                 "ByteLevel, or a Sequence with it"));
  }
  result.ends_spelled_ = std::holds_alternative<SpellStep>(result.steps_.back());
  if (result.ends_spelled_) result.steps_.pop_back();
  return result;
}

Status PreTokenizer::add(const JsonObjectReader& field, const RegexEngine& engine) {
  TAPML_ASSIGN(const std::string type, field.required_string("type"));
  if (type == "ByteLevel") return add_byte_level(field, engine);
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
    return add_pattern(kPunctuation, behavior, engine);
  }
  if (type == "Sequence") {
    TAPML_ASSIGN(const auto items, object_items(field, "pretokenizers"));
    for (const JsonObjectReader& item : items) TAPML_TRY(add(item, engine));
    return {};
  }
  return fail(field.field_error("type", "is not a supported pre-tokenizer",
                                "ByteLevel, Split, Digits, Punctuation or Sequence"));
}

Status PreTokenizer::add_byte_level(const JsonObjectReader& field, const RegexEngine& engine) {
  TAPML_ASSIGN(const bool add_prefix_space, field.required_bool("add_prefix_space"));
  TAPML_ASSIGN(const bool use_regex, field.bool_or("use_regex", true));
  if (add_prefix_space) steps_.push_back(PrefixSpaceStep{});
  if (use_regex) TAPML_TRY(add_pattern(kByteLevelPattern, SplitBehavior::kIsolated, engine));
  steps_.push_back(SpellStep{});
  return {};
}

Status PreTokenizer::add_split(const JsonObjectReader& field, const RegexEngine& engine) {
  SplitStep step;
  TAPML_ASSIGN(step.behavior, read_behavior(field));
  TAPML_ASSIGN(step.invert, field.bool_or("invert", false));
  TAPML_ASSIGN(const JsonObjectReader pattern, field.required_object("pattern"));
  if (pattern.has("Regex")) {
    TAPML_ASSIGN(const std::string text, pattern.required_string("Regex"));
    auto regex = engine.compile(text);
    if (!regex) {
      // The engine knows the place in the pattern, the file where the pattern is.
      Error error = std::move(regex).error();
      error.message = pattern.source() + ": " + quoted(pattern.path()) + ": " + error.message;
      error.where = json_place(pattern.source(), *pattern.find("Regex")) + ", " + error.where;
      return fail(std::move(error));
    }
    step.regex = std::move(*regex);
  } else if (pattern.has("String")) {
    TAPML_ASSIGN(step.literal, pattern.required_string("String"));
    if (step.literal.empty()) {
      return fail(pattern.field_error("String", "is empty", "the text to split at"));
    }
  } else {
    return fail(field.field_error("pattern", "is of an unknown kind",
                                  "an object with \"Regex\" or \"String\""));
  }
  steps_.push_back(std::move(step));
  return {};
}

Status PreTokenizer::add_pattern(std::string_view pattern, SplitBehavior behavior,
                                 const RegexEngine& engine) {
  SplitStep step;
  step.behavior = behavior;
  TAPML_ASSIGN(step.regex, engine.compile(pattern));
  steps_.push_back(std::move(step));
  return {};
}

Status PreTokenizer::split_word(const SplitStep& step, std::string_view word,
                                std::vector<std::string_view>& out) {
  std::vector<Span> matches;
  if (step.regex != nullptr) {
    TAPML_TRY(step.regex->find_all(word, matches));
  } else {
    for (size_t at = word.find(step.literal); at != word.npos;
         at = word.find(step.literal, at + step.literal.size())) {
      matches.push_back({at, at + step.literal.size()});
    }
  }
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

Result<Words> PreTokenizer::split(std::string_view text) const {
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
    const bool spell = std::holds_alternative<SpellStep>(step);
    for (std::string_view& word : words.views_) {
      if (spell) {
        word = keep(spell_bytes(word));
      } else if (!word.starts_with(' ')) {
        word = keep(" " + std::string(word));
      }
    }
  }
  if (!ends_spelled_) {
    for (std::string_view& word : words.views_) {
      std::string bytes;
      unspell_bytes(word, bytes);
      word = keep(std::move(bytes));
    }
  }
  return words;
}

}  // namespace tapml::tokenizer
