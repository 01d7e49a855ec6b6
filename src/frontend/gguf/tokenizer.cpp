#include "frontend/gguf/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "frontend/gguf/pre_tokenizers.h"
#include "io/json.h"

namespace tapml::frontend {

namespace {

// Longer tokens are no results of merges: SentencePiece makes tokens of at most 16 characters, and
// each has as many splits as characters.
constexpr size_t kMaxMergedBytes = 512;

constexpr const char *kModelKey = "tokenizer.ggml.model", *kTokensKey = "tokenizer.ggml.tokens",
                     *kTypesKey = "tokenizer.ggml.token_type",
                     *kScoresKey = "tokenizer.ggml.scores", *kMergesKey = "tokenizer.ggml.merges",
                     *kPreKey = "tokenizer.ggml.pre";
constexpr const char* kSpace = "\u2581";

// llama.cpp's kinds of tokens.
enum class TokenType : int64_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

Json text_of(std::string_view text) { return Json::string(std::string(text)); }

Json typed(const char* type, std::vector<std::pair<std::string, Json>> members) {
  members.insert(members.begin(), {"type", Json::string(type)});
  return Json::object(std::move(members));
}

Json sequence(const char* key, std::vector<Json> items) {
  return typed("Sequence", {{key, Json::array(std::move(items))}});
}

Json replace(const char* pattern, const char* content) {
  return typed("Replace", {{"pattern", Json::object({{"String", Json::string(pattern)}})},
                           {"content", Json::string(content)}});
}

class TokenizerWriter {
 public:
  explicit TokenizerWriter(const GgufFields& fields) : fields_(fields) {
    model_ = fields.text(kModelKey).value_or("");
    if (!fields.has(kModelKey) || model_ == "none" || model_ == "no_vocab") {
      fields.refuse(kModelKey, "says that the file has no tokenizer", "gpt2 or llama",
                    model_.empty() ? "no such key" : in_quotes(model_),
                    "convert the model with its tokenizer");
    }
    if (model_ != "gpt2" && model_ != "llama") {
      fields.refuse(kModelKey, "is a kind of tokenizer that is not supported", "gpt2 or llama",
                    in_quotes(model_));
    }
    tokens_ = fields.texts(kTokensKey);
    if (tokens_.empty()) {
      fields.refuse(kTokensKey, "has no tokens", "an array of texts",
                    fields.has(kTokensKey) ? "an empty one" : "no such key");
    }
    types_ = fields.integers(kTypesKey);
    if (!types_.empty() && types_.size() != tokens_.size()) refuse_count(kTypesKey, types_.size());
    for (size_t id = 0; id < tokens_.size(); ++id) check_utf8(tokens_[id], id);
  }

  std::string json() const {
    const bool is_byte_level = model_ == "gpt2";
    Json file = Json::object({{"version", Json::string("1.0")}, {"added_tokens", added_tokens()}});
    if (is_byte_level) {
      add_byte_level(file);
    } else {
      add_scored(file);
    }
    return file.dump();
  }

  std::string config() const {
    const bool is_byte_level = model_ == "gpt2";
    const PreTokenizer* pre = is_byte_level ? &pre_tokenizer() : nullptr;
    Json config = Json::object();
    const auto bos = add_role(config, "bos_token", "bos", is_byte_level ? -1 : 1);
    const auto eos = add_role(config, "eos_token", "eos", is_byte_level ? -1 : 2);
    add_role(config, "unk_token", "unknown", -1);
    add_role(config, "pad_token", "padding", -1);
    const bool adds_bos =
        fields_.boolean("tokenizer.ggml.add_bos_token").value_or(pre ? pre->adds_bos : true);
    const bool adds_eos = fields_.boolean("tokenizer.ggml.add_eos_token").value_or(false);
    config.set("add_bos_token", Json::boolean(adds_bos && bos));
    config.set("add_eos_token", Json::boolean(adds_eos && eos));
    if (const auto chat = fields_.text("tokenizer.chat_template")) {
      config.set("chat_template", Json::string(*chat));
    }
    return config.dump(1);
  }

 private:
  [[noreturn]] void refuse_count(const char* key, size_t count) const {
    fields_.refuse(key, "does not have an item for each token",
                   std::to_string(tokens_.size()) + " items", std::to_string(count));
  }

  void check_utf8(std::string_view token, size_t id) const {
    for (size_t at = 0; at < token.size();) {
      const size_t length = utf8_sequence_length(token, at);
      if (length == 0) {
        fields_.refuse(kTokensKey, "has a token that is not UTF-8", "UTF-8",
                       in_quotes(token) + ", token " + std::to_string(id));
      }
      at += length;
    }
  }

  TokenType type_of(size_t id) const {
    return types_.empty() ? TokenType::kNormal : static_cast<TokenType>(types_[id]);
  }

  // Whether the token of the role "bos" and the like exists; `fallback` is its id without a key.
  bool add_role(Json& config, const char* published, const std::string& role,
                int64_t fallback) const {
    const std::string key = "tokenizer.ggml." + role + "_token_id";
    const int64_t id = fields_.integer(key).value_or(fallback);
    if (id < 0 || id >= std::ssize(tokens_)) {
      if (!fields_.has(key) || id == 0xFFFFFFFF) return false;
      fields_.refuse(key, "is not the id of a token",
                     "an integer from 0 to " + std::to_string(tokens_.size() - 1),
                     std::to_string(id));
    }
    if (tokens_[static_cast<size_t>(id)].empty()) return false;
    config.set(published, text_of(tokens_[static_cast<size_t>(id)]));
    return true;
  }

  Json added_tokens() const {
    std::vector<Json> added;
    for (size_t id = 0; id < tokens_.size(); ++id) {
      const TokenType type = type_of(id);
      const bool is_special = type == TokenType::kControl || type == TokenType::kUnknown;
      if (tokens_[id].empty() || (!is_special && type != TokenType::kUserDefined)) continue;
      added.push_back(Json::object({{"id", Json::integer(static_cast<int64_t>(id))},
                                    {"content", text_of(tokens_[id])},
                                    {"single_word", Json::boolean(false)},
                                    {"lstrip", Json::boolean(false)},
                                    {"rstrip", Json::boolean(false)},
                                    {"normalized", Json::boolean(false)},
                                    {"special", Json::boolean(is_special)}}));
    }
    return Json::array(std::move(added));
  }

  Json vocabulary() const {
    std::unordered_map<std::string_view, size_t> seen;
    std::vector<std::pair<std::string, Json>> members;
    for (size_t id = 0; id < tokens_.size(); ++id) {
      if (tokens_[id].empty()) continue;
      const auto [first, is_new] = seen.emplace(tokens_[id], id);
      if (!is_new) {
        fields_.refuse(kTokensKey, "has the token " + in_quotes(tokens_[id]) + " twice",
                       "each token once",
                       "the ids " + std::to_string(first->second) + " and " + std::to_string(id));
      }
      members.emplace_back(std::string(tokens_[id]), Json::integer(static_cast<int64_t>(id)));
    }
    return Json::object(std::move(members));
  }

  const PreTokenizer& pre_tokenizer() const {
    const std::string name = fields_.text(kPreKey).value_or("");
    if (const PreTokenizer* pre = find_pre_tokenizer(name)) return *pre;
    fields_.refuse(kPreKey, "is a pre-tokenizer that is not supported", pre_tokenizer_names(),
                   in_quotes(name));
  }

  void add_byte_level(Json& file) const {
    const PreTokenizer& pre = pre_tokenizer();
    file.set("normalizer", pre.composes ? typed("NFC", {}) : Json::null());
    std::vector<Json> steps;
    for (const std::string_view split : pre.splits) {
      steps.push_back(typed("Split", {{"pattern", Json::object({{"Regex", text_of(split)}})},
                                      {"behavior", Json::string("Isolated")},
                                      {"invert", Json::boolean(false)}}));
    }
    const std::vector<std::pair<std::string, Json>> plain = {
        {"add_prefix_space", Json::boolean(false)}, {"use_regex", Json::boolean(false)}};
    steps.push_back(typed("ByteLevel", plain));
    file.set("pre_tokenizer", sequence("pretokenizers", std::move(steps)));
    file.set("decoder", typed("ByteLevel", plain));
    std::vector<Json> merges;
    for (const std::string_view merge : fields_.texts(kMergesKey)) {
      // A token may begin with a space in the file of a converter that does not use the alphabet.
      merges.push_back(text_of(merge));
    }
    if (merges.empty()) {
      fields_.refuse(kMergesKey, "has no merges", "an array of texts",
                     fields_.has(kMergesKey) ? "an empty one" : "no such key");
    }
    file.set("model", typed("BPE", {{"ignore_merges", Json::boolean(pre.ignores_merges)},
                                    {"vocab", vocabulary()},
                                    {"merges", Json::array(std::move(merges))}}));
  }

  // SentencePiece joins the two symbols whose whole has the highest score. A merge list in the
  // order of scores does the same.
  void add_scored(Json& file) const {
    const bool has_prefix = fields_.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
    std::vector<Json> normalizers, decoders;
    if (has_prefix) {
      normalizers.push_back(typed("Prepend", {{"prepend", Json::string(kSpace)}}));
    }
    normalizers.push_back(replace(" ", kSpace));
    decoders.push_back(replace(kSpace, " "));
    decoders.push_back(typed("ByteFallback", {}));
    decoders.push_back(typed("Fuse", {}));
    if (has_prefix) {
      decoders.push_back(typed("Strip", {{"content", Json::string(" ")},
                                         {"start", Json::integer(1)},
                                         {"stop", Json::integer(0)}}));
    }
    file.set("normalizer", sequence("normalizers", std::move(normalizers)));
    file.set("pre_tokenizer", Json::null());
    file.set("decoder", sequence("decoders", std::move(decoders)));
    std::vector<std::pair<std::string, Json>> model = {{"byte_fallback", Json::boolean(true)},
                                                       {"fuse_unk", Json::boolean(true)}};
    for (size_t id = 0; id < tokens_.size(); ++id) {
      if (type_of(id) != TokenType::kUnknown) continue;
      model.emplace_back("unk_token", text_of(tokens_[id]));
      break;
    }
    model.emplace_back("vocab", vocabulary());
    model.emplace_back("merges", merges_of_scores());
    file.set("model", typed("BPE", std::move(model)));
  }

  Json merges_of_scores() const {
    const std::vector<double> scores = fields_.numbers(kScoresKey);
    if (scores.size() != tokens_.size()) refuse_count(kScoresKey, scores.size());
    if (!std::ranges::all_of(scores, [](double score) { return std::isfinite(score); })) {
      fields_.refuse(kScoresKey, "has a score that is no number", "finite numbers",
                     "an infinity or a NaN");
    }
    std::unordered_map<std::string_view, size_t> ids;
    const auto is_piece = [&](size_t id) {
      const TokenType type = type_of(id);
      return type == TokenType::kNormal || type == TokenType::kUserDefined ||
             type == TokenType::kUnused;
    };
    for (size_t id = 0; id < tokens_.size(); ++id) {
      if (is_piece(id)) ids.emplace(tokens_[id], id);
    }
    struct Merge {
      double score;
      size_t left, right;
    };
    std::vector<Merge> merges;
    for (size_t id = 0; id < tokens_.size(); ++id) {
      const std::string_view token = tokens_[id];
      if (!is_piece(id) || token.size() > kMaxMergedBytes) continue;
      const size_t first = merges.size();
      for (size_t cut = 1; cut < token.size(); ++cut) {
        const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
        if (left == ids.end() || right == ids.end()) continue;
        merges.push_back({scores[id], left->second, right->second});
      }
      std::sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
                [](const Merge& a, const Merge& b) {
                  return std::pair(a.left, a.right) < std::pair(b.left, b.right);
                });
    }
    std::ranges::stable_sort(merges, std::greater(), &Merge::score);
    std::vector<Json> items;
    items.reserve(merges.size());
    for (const Merge& merge : merges) {
      items.push_back(Json::array({text_of(tokens_[merge.left]), text_of(tokens_[merge.right])}));
    }
    return Json::array(std::move(items));
  }

  const GgufFields& fields_;
  std::string model_;
  std::vector<std::string_view> tokens_;
  std::vector<int64_t> types_;
};

}  // namespace

std::string gguf_tokenizer(const GgufFields& fields) { return TokenizerWriter(fields).json(); }

std::string gguf_tokenizer_config(const GgufFields& fields) {
  return TokenizerWriter(fields).config();
}

}  // namespace tapml::frontend
