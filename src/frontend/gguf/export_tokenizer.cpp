#include "frontend/gguf/export_tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "frontend/gguf/pre_tokenizers.h"
#include "io/json_reader.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

// llama.cpp's kinds of tokens, as gguf_tokenizer() reads them.
constexpr int64_t kNormalToken = 1, kUnknownToken = 2, kControlToken = 3, kUserToken = 4,
                  kUnusedToken = 5, kByteToken = 6;
constexpr const char* kMark = "\u2581";  // SentencePiece's space

std::string text_at(const Json* object, std::string_view key) {
  const Json* value = object ? object->find(key) : nullptr;
  return value ? value->as_string() : std::string();
}

bool flag_at(const Json& object, std::string_view key, bool fallback) {
  const Json* value = object.find(key);
  return value && value->is_bool() ? value->as_bool() : fallback;
}

// The steps of a "Sequence", or the single one; null has none.
std::vector<const Json*> steps_of(const Json* value, std::string_view list) {
  if (!value || !value->is_object()) return {};
  if (text_at(value, "type") != "Sequence") return {value};
  std::vector<const Json*> steps;
  if (const Json* items = value->find(list)) {
    for (const Json& one : items->items()) {
      for (const Json* inner : steps_of(&one, list)) steps.push_back(inner);
    }
  }
  return steps;
}

class TokenizerExporter {
 public:
  TokenizerExporter(const GgufTokenizerSource& from, int64_t vocabulary, GgufMetadata& to)
      : from_(from),
        file_(unwrap(parse_json(from.json, from.source))),
        size_(static_cast<size_t>(vocabulary)),
        to_(to) {
    if (from.tokens.size() <= size_) return;
    throw_user(from.source + ": the tokenizer has more tokens than the model", from.source,
               "at most " + std::to_string(size_) + " tokens, the rows of the embedding",
               std::to_string(from.tokens.size()));
  }

  void write() {
    const Json* model = file_.find("model");
    if (!model || !model->is_object()) refuse("has no \"model\"", "an object", "none");
    const std::string type = text_at(model, "type");
    if (!type.empty() && type != "BPE") {
      refuse("is of a kind that GGUF files are not written for", "BPE", type);
    }
    read_merges(*model);
    const auto steps = steps_of(file_.find("pre_tokenizer"), "pretokenizers");
    const bool is_byte_level = std::ranges::any_of(
        steps, [](const Json* step) { return text_at(step, "type") == "ByteLevel"; });
    if (is_byte_level) {
      write_byte_level(*model, steps);
    } else {
      write_scored(*model);
    }
    write_roles();
  }

 private:
  [[noreturn]] void refuse(const std::string& problem, const std::string& expected,
                           const std::string& found) const {
    throw_user(from_.source + ": the tokenizer " + problem, from_.source, expected, found);
  }

  void read_merges(const Json& model) {
    const Json* list = model.find("merges");
    for (const Json& item : list ? list->items() : std::vector<Json>()) {
      std::string left, right;
      if (item.is_array() && item.items().size() == 2) {
        left = item.items()[0].as_string();
        right = item.items()[1].as_string();
      } else {
        const std::string& text = item.as_string();
        const size_t space = std::min(text.find(' '), text.size());
        left = text.substr(0, space);
        right = text.substr(std::min(space + 1, text.size()));
      }
      merges_.emplace_back(std::move(left), std::move(right));
    }
  }

  void write_byte_level(const Json& model, const std::vector<const Json*>& steps) {
    bool composes = false;
    for (const Json* step : steps_of(file_.find("normalizer"), "normalizers")) {
      const std::string type = text_at(step, "type");
      if (type != "NFC") refuse("changes texts in a way that GGUF files lack", "NFC", type);
      composes = true;
    }
    const std::vector<std::string> splits = splits_of(steps);
    const bool ignores = flag_at(model, "ignore_merges", false);
    const PreTokenizer* pre = find_pre_tokenizer(splits, composes, ignores);
    if (!pre) {
      refuse("cuts texts into words as no pre-tokenizer of llama.cpp does",
             "the words of one of " + pre_tokenizer_names(),
             join(splits, [](const std::string& one) { return in_quotes(one, 200); }) +
                 (ignores ? ", and words that are tokens are not merged" : ""));
    }
    to_.add_text("tokenizer.ggml.model", "gpt2");
    to_.add_text("tokenizer.ggml.pre", std::string(pre->name));
    write_tokens({});
    std::vector<std::string> merges;
    for (const auto& [left, right] : merges_) {
      if (left.find(' ') != left.npos || right.find(' ') != right.npos) {
        refuse("has a merge with a space in it", "the byte alphabet", in_quotes(left + right));
      }
      merges.push_back(left + " " + right);
    }
    to_.add_texts("tokenizer.ggml.merges", std::move(merges));
  }

  std::vector<std::string> splits_of(const std::vector<const Json*>& steps) const {
    std::vector<std::string> splits;
    for (const Json* step : steps) {
      const std::string type = text_at(step, "type");
      if (type == "Split") {
        splits.push_back(text_at(step->find("pattern"), "Regex"));
      } else if (type == "Digits") {
        const bool single = flag_at(*step, "individual_digits", false);
        splits.push_back(std::string(single_digits()) + (single ? "" : "+"));
      } else if (type != "ByteLevel") {
        splits.push_back(type);
      } else if (flag_at(*step, "use_regex", true)) {
        splits.emplace_back(gpt2_words());
      }
    }
    return splits;
  }

  // Of merges in the order of scores, the number of the first that makes a token is its score.
  void write_scored(const Json& model) {
    if (!flag_at(model, "byte_fallback", false)) {
      refuse("is of a kind that GGUF files are not written for",
             "byte-level BPE, or BPE on characters with \"byte_fallback\"", "neither");
    }
    std::unordered_map<std::string, double> scores;
    for (size_t i = 0; i < merges_.size(); ++i) {
      scores.emplace(merges_[i].first + merges_[i].second, -static_cast<double>(i));
    }
    to_.add_text("tokenizer.ggml.model", "llama");
    to_.add_text("tokenizer.ggml.pre", "default");
    write_tokens(text_at(&model, "unk_token"));
    std::vector<double> list;
    for (size_t id = 0; id < size_; ++id) {
      const bool is_token = id < from_.tokens.size() && !from_.tokens[id].empty();
      const auto score = is_token ? scores.find(from_.tokens[id]) : scores.end();
      const double last = -static_cast<double>(merges_.size()) - 1;
      list.push_back(score != scores.end() ? score->second : last);
    }
    to_.add("tokenizer.ggml.scores", std::move(list));
    to_.add("tokenizer.ggml.add_space_prefix", adds_prefix());
  }

  bool adds_prefix() const {
    for (const Json* step : steps_of(file_.find("normalizer"), "normalizers")) {
      if (text_at(step, "type") == "Prepend" && text_at(step, "prepend") == kMark) return true;
    }
    for (const Json* step : steps_of(file_.find("pre_tokenizer"), "pretokenizers")) {
      if (text_at(step, "type") != "Metaspace") continue;
      const std::string scheme = text_at(step, "prepend_scheme");
      return scheme.empty() ? flag_at(*step, "add_prefix_space", true) : scheme != "never";
    }
    return false;
  }

  void write_tokens(const std::string& unknown) {
    std::vector<int64_t> types(size_, kNormalToken);
    std::vector<std::string> tokens = from_.tokens;
    tokens.resize(size_);
    for (size_t id = 0; id < size_; ++id) {
      if (tokens[id].empty()) {
        tokens[id] = "[PAD" + std::to_string(id) + "]";
        types[id] = kUnusedToken;
      } else if (id < from_.special.size() && from_.special[id]) {
        types[id] = kControlToken;
      } else if (tokens[id].size() == 6 && tokens[id].starts_with("<0x") && merges_have_bytes()) {
        types[id] = kByteToken;
      }
      if (!unknown.empty() && tokens[id] == unknown) types[id] = kUnknownToken;
    }
    if (const Json* added = file_.find("added_tokens")) {
      for (const Json& one : added->items()) {
        const Json* id = one.find("id");
        const auto at = static_cast<size_t>(id ? id->as_integer() : -1);
        if (at < size_ && types[at] == kNormalToken) types[at] = kUserToken;
      }
    }
    to_.add_texts("tokenizer.ggml.tokens", std::move(tokens));
    to_.add("tokenizer.ggml.token_type", std::move(types));
  }

  bool merges_have_bytes() const {
    const Json* model = file_.find("model");
    return model && flag_at(*model, "byte_fallback", false);
  }

  void write_roles() {
    const auto id_of = [](const std::string& role) {
      return "tokenizer.ggml." + role + "_token_id";
    };
    constexpr const char* kEnds[] = {"eos", "eot", "eom"};
    for (size_t i = 0; i < std::min(from_.ends.size(), std::size(kEnds)); ++i) {
      to_.add(id_of(kEnds[i]), int64_t{from_.ends[i]});
    }
    for (const auto& [role, id] : from_.roles) to_.add(id_of(role), int64_t{id});
    to_.add("tokenizer.ggml.add_bos_token", from_.adds_bos);
    to_.add("tokenizer.ggml.add_eos_token", from_.adds_eos);
    if (from_.chat_template) to_.add_text("tokenizer.chat_template", *from_.chat_template);
  }

  const GgufTokenizerSource& from_;
  const Json file_;
  size_t size_;
  GgufMetadata& to_;
  std::vector<std::pair<std::string, std::string>> merges_;
};

}  // namespace

void write_gguf_tokenizer(const GgufTokenizerSource& tokenizer, int64_t vocabulary,
                          GgufMetadata& to) {
  TokenizerExporter(tokenizer, vocabulary, to).write();
}

}  // namespace tapml::frontend
