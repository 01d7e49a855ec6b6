#include "llm/tokenizer/decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/rounding.h"
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/metaspace.h"
#include "llm/tokenizer/object_items.h"

namespace tapml::tokenizer {
namespace {

constexpr int64_t kMaxStripped = 1024;
constexpr size_t kMaxGrowth = 4096;
// The steps process a part of a text by recursion.
constexpr size_t kMaxSteps = 64;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte of a token "<0xHH>", or -1.
int byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const int high = hex_digit(token[3]), low = hex_digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// The size of the longest end of `text` that more text could complete to a whole `pattern`.
size_t begun_match(std::string_view text, std::string_view pattern) {
  size_t size = std::min(text.size(), pattern.size() - 1);
  while (size > 0 && !text.ends_with(pattern.substr(0, size))) --size;
  return size;
}

// What the tokenizers package takes out of a token with its space.
void clean_up(std::string& token) {
  constexpr std::pair<std::string_view, std::string_view> kCleaned[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [spaced, joined] : kCleaned) {
    for (size_t found = token.find(spaced); found != token.npos;
         found = token.find(spaced, found + joined.size())) {
      token.replace(found, spaced.size(), joined);
    }
  }
}

}  // namespace

Result<Decoder> Decoder::read(const JsonObjectReader& file, const RegexEngine& engine) {
  Decoder result;
  TAPML_ASSIGN(const auto field, file.optional_object("decoder"));
  if (field) {
    TAPML_TRY(result.add(*field, engine));
  } else {
    result.steps_.push_back(Spaced{});
  }
  return result;
}

Status Decoder::add_replace(const JsonObjectReader& field, const RegexEngine& engine) {
  TAPML_ASSIGN(Pattern pattern, Pattern::read(field, engine));
  TAPML_ASSIGN(std::string content, field.required_string("content"));
  const std::string* text = pattern.text();
  // An expression may match before every character.
  growth_ *=
      text ? std::max<size_t>(1, ceil_div(content.size(), text->size())) : content.size() + 1;
  if (growth_ > kMaxGrowth) {
    return fail(field.field_error(
        "content", "makes texts too long",
        "Replace steps that lengthen a text at most " + std::to_string(kMaxGrowth) + " times"));
  }
  if (text) {
    steps_.push_back(Replace{*text, std::move(content)});
  } else {
    steps_.push_back(ReplaceRegex{std::move(pattern), std::move(content)});
  }
  return {};
}

Status Decoder::add(const JsonObjectReader& field, const RegexEngine& engine) {
  if (steps_.size() >= kMaxSteps) {
    return fail(field.field_error("type", "exceeds the limit of steps",
                                  "a decoder of at most " + std::to_string(kMaxSteps) + " steps"));
  }
  TAPML_ASSIGN(const std::string type, field.required_string("type"));
  if (type == "ByteLevel") {
    steps_.push_back(ByteLevel{});
  } else if (type == "ByteFallback") {
    steps_.push_back(ByteFallback{});
  } else if (type == "Fuse") {
    steps_.push_back(Fuse{});
  } else if (type == "Replace") {
    TAPML_TRY(add_replace(field, engine));
  } else if (type == "Strip") {
    Strip step;
    TAPML_ASSIGN(step.content, required_character(field, "content"));
    TAPML_ASSIGN(const int64_t start, field.required_int("start", 0, kMaxStripped));
    TAPML_ASSIGN(const int64_t stop, field.required_int("stop", 0, kMaxStripped));
    step.start = static_cast<size_t>(start);
    step.stop = static_cast<size_t>(stop);
    steps_.push_back(std::move(step));
  } else if (type == "WordPiece") {
    WordPiece step;
    TAPML_ASSIGN(step.prefix, field.string_or("prefix", "##"));
    TAPML_ASSIGN(step.cleanup, field.bool_or("cleanup", true));
    steps_.push_back(std::move(step));
  } else if (type == "Metaspace") {
    TAPML_ASSIGN(const MetaspaceOptions options, read_metaspace(field));
    steps_.push_back(Metaspace{options.mark, options.scheme != PrependScheme::kNever});
  } else if (type == "Sequence") {
    TAPML_ASSIGN(const auto items, object_items(field, "decoders"));
    for (const JsonObjectReader& item : items) TAPML_TRY(add(item, engine));
  } else {
    return fail(field.field_error("type", "is not a supported decoder",
                                  "ByteLevel, Replace, ByteFallback, Fuse, Strip, WordPiece, "
                                  "Metaspace or Sequence"));
  }
  return {};
}

DecodeStream::DecodeStream(const Decoder& decoder)
    : decoder_(&decoder), states_(decoder.steps_.size()), tokens_(decoder.steps_.size()) {}

void DecodeStream::part(size_t at, std::string_view text, bool ends, std::string& out) {
  if (at == states_.size()) {
    out.append(text);
    return;
  }
  std::visit([&](const auto& step) { run(step, at, text, ends, out); }, decoder_->steps_[at]);
}

void DecodeStream::run(const Decoder::ByteLevel&, size_t at, std::string_view text, bool ends,
                       std::string& out) {
  std::string& token = tokens_[at];
  token += text;
  if (!ends) return;
  // Added tokens are plain text; those that happen to use the byte alphabet are read as bytes.
  std::string bytes, valid;
  if (!unspell_bytes(token, bytes)) bytes = token;
  token.clear();
  states_[at].bytes.push(bytes, valid);
  part(at + 1, valid, false, out);
}

void DecodeStream::run(const Decoder::ByteFallback&, size_t at, std::string_view text, bool ends,
                       std::string& out) {
  std::string& token = tokens_[at];
  token += text;
  if (!ends) return;
  const std::string whole = std::exchange(token, "");
  if (const int byte = byte_of_token(whole); byte >= 0) {
    states_[at].held.push_back(static_cast<char>(byte));
    return;
  }
  flush_bytes(at, out);
  part(at + 1, whole, true, out);
}

// One byte too many spoils the whole run, so it is kept until its end.
void DecodeStream::flush_bytes(size_t at, std::string& out) {
  const std::string run = std::exchange(states_[at].held, "");
  if (run.empty()) return;
  if (find_invalid_utf8(run) == std::string::npos) return part(at + 1, run, true, out);
  for (size_t i = 0; i < run.size(); ++i) part(at + 1, "\uFFFD", true, out);
}

void DecodeStream::run(const Decoder::Fuse&, size_t at, std::string_view text, bool,
                       std::string& out) {
  if (!text.empty()) part(at + 1, text, false, out);
}

void DecodeStream::run(const Decoder::Spaced&, size_t at, std::string_view text, bool ends,
                       std::string& out) {
  State& state = states_[at];
  std::string spaced(state.leading && !state.first ? " " : "");
  spaced += text;
  state.first = false;
  state.leading = ends;
  part(at + 1, spaced, ends, out);
}

void DecodeStream::run(const Decoder::Replace& step, size_t at, std::string_view text, bool ends,
                       std::string& out) {
  std::string& held = states_[at].held;
  held += text;
  std::string done;
  size_t from = 0;
  for (size_t match = held.find(step.text); match != held.npos;
       match = held.find(step.text, from)) {
    done.append(held, from, match - from).append(step.content);
    from = match + step.text.size();
  }
  const size_t begun = ends ? 0 : begun_match(std::string_view(held).substr(from), step.text);
  const size_t certain = held.size() - begun;
  done.append(held, from, certain - from);
  held.erase(0, certain);
  if (ends || !done.empty()) part(at + 1, done, ends, out);
}

void DecodeStream::run(const Decoder::ReplaceRegex& step, size_t at, std::string_view text,
                       bool ends, std::string& out) {
  std::string& token = tokens_[at];
  token += text;
  if (!ends) return;
  const std::string whole = std::exchange(token, "");
  const auto replaced = step.pattern.replace_all(whole, step.content, std::string::npos);
  part(at + 1, replaced ? *replaced : whole, true, out);
}

void DecodeStream::run(const Decoder::Strip& step, size_t at, std::string_view text, bool ends,
                       std::string& out) {
  State& state = states_[at];
  std::string kept;
  for (size_t i = 0; i < text.size();) {
    const std::string_view character = text.substr(i, next_utf8(text, i).length);
    i += character.size();
    const bool match = character == step.content;
    if (state.leading && match && state.stripped < step.start) {
      ++state.stripped;
      continue;
    }
    state.leading = false;
    if (match && step.stop > 0) {
      // Held back while it may be among the last ones to strip.
      state.held += character;
      if (state.held.size() > step.stop * step.content.size()) {
        kept += character;
        state.held.erase(0, character.size());
      }
      continue;
    }
    kept += std::exchange(state.held, "");
    kept += character;
  }
  if (ends) state = State();
  if (ends || !kept.empty()) part(at + 1, kept, ends, out);
}

void DecodeStream::run(const Decoder::WordPiece& step, size_t at, std::string_view text, bool ends,
                       std::string& out) {
  std::string& token = tokens_[at];
  token += text;
  if (!ends) return;
  std::string whole = std::exchange(token, "");
  if (!std::exchange(states_[at].first, false)) {
    if (whole.starts_with(step.prefix)) {
      whole.erase(0, step.prefix.size());
    } else {
      whole.insert(0, " ");
    }
  }
  if (step.cleanup) clean_up(whole);
  part(at + 1, whole, true, out);
}

void DecodeStream::run(const Decoder::Metaspace& step, size_t at, std::string_view text, bool ends,
                       std::string& out) {
  State& state = states_[at];
  std::string spaced;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with(step.mark)) {
      if (!state.first || !step.drops_first) spaced += ' ';
      i += step.mark.size();
    } else {
      spaced += text[i++];
    }
  }
  if (ends) state.first = false;
  part(at + 1, spaced, ends, out);
}

void DecodeStream::finish(std::string& out) {
  for (size_t at = 0; at < states_.size(); ++at) {
    const Decoder::Step& step = decoder_->steps_[at];
    if (std::holds_alternative<Decoder::ByteLevel>(step)) {
      std::string rest;
      states_[at].bytes.finish(rest);
      part(at + 1, rest, true, out);
    } else if (std::holds_alternative<Decoder::ByteFallback>(step)) {
      flush_bytes(at, out);
    } else if (std::holds_alternative<Decoder::Fuse>(step)) {
      part(at + 1, "", true, out);
    }
    states_[at] = State();
    tokens_[at].clear();
  }
}

}  // namespace tapml::tokenizer
