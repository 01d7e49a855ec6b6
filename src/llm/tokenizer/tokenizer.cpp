#include "llm/tokenizer/tokenizer.h"

#include <algorithm>
#include <variant>

#include "base/strings.h"
#include "io/json.h"
#include "io/json_reader.h"
#include "llm/tokenizer/added_tokens.h"
#include "llm/tokenizer/bpe.h"
#include "llm/tokenizer/byte_level_files.h"
#include "llm/tokenizer/decoder.h"
#include "llm/tokenizer/longest_match.h"
#include "llm/tokenizer/normalizer.h"
#include "llm/tokenizer/post_processor.h"
#include "llm/tokenizer/pre_tokenizer.h"
#include "llm/tokenizer/rwkv_vocabulary.h"
#include "llm/tokenizer/sentencepiece_model.h"
#include "llm/tokenizer/tiktoken_file.h"
#include "llm/tokenizer/unigram.h"
#include "llm/tokenizer/word_piece.h"

namespace tapml {
namespace {

// Keeps offsets of symbols within 32 bits.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

std::string_view part_of(std::string_view text, tokenizer::Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

Status check_header(const JsonObjectReader& file) {
  TAPML_ASSIGN(const std::string version, file.string_or("version", "1.0"));
  if (version != "1.0") {
    return fail(file.field_error("version", "is not a known version of the format", "\"1.0\""));
  }
  return {};
}

using Model =
    std::variant<tokenizer::BpeModel, tokenizer::WordPieceModel, tokenizer::LongestMatchModel,
                 tokenizer::SentencePieceModel, tokenizer::UnigramModel>;

// What a tokenizer.json would say besides its model if a text is one word of bytes.
Json text_of_bytes(const tokenizer::TokenizerConfig& config) {
  const Json type = Json::string("ByteLevel"), no = Json::boolean(false);
  return Json::object(
      {{"added_tokens", tokenizer::added_tokens_of(config)},
       {"pre_tokenizer",
        Json::object({{"type", type}, {"add_prefix_space", no}, {"use_regex", no}})},
       {"decoder", Json::object({{"type", type}})}});
}

// The same of a SentencePiece model: its control pieces are special tokens, and marks are spaces.
Json text_of_pieces(const tokenizer::SentencePieceFile& file,
                    const tokenizer::TokenizerConfig& config) {
  std::vector<Json> added = tokenizer::added_tokens_of(config).items();
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    const tokenizer::SentencePiece& piece = file.pieces[i];
    const auto id = static_cast<int64_t>(i);
    const bool is_known = std::ranges::any_of(added, [&](const Json& token) {
      return token.find("id")->as_integer() == id ||
             token.find("content")->as_string() == piece.text;
    });
    if (is_known || (piece.kind != tokenizer::PieceKind::kControl &&
                     piece.kind != tokenizer::PieceKind::kUnknown)) {
      continue;
    }
    const Json no = Json::boolean(false);
    added.push_back(Json::object({{"id", Json::integer(id)},
                                  {"content", Json::string(piece.text)},
                                  {"special", Json::boolean(true)},
                                  {"single_word", no},
                                  {"lstrip", no},
                                  {"rstrip", no},
                                  {"normalized", no}}));
  }
  const auto step = [](const char* type) { return Json::object({{"type", Json::string(type)}}); };
  Json replace = step("Replace"), steps = Json::array(), decoder = step("Sequence");
  replace.set("pattern", Json::object({{"String", Json::string("\u2581")}}));
  replace.set("content", Json::string(" "));
  if (file.escapes_spaces) steps.push(std::move(replace));
  steps.push(step("ByteFallback"));
  steps.push(step("Fuse"));
  if (file.adds_dummy_prefix || file.removes_extra_spaces) {
    Json strip = step("Strip");
    strip.set("content", Json::string(" "));
    strip.set("start", Json::integer(file.removes_extra_spaces ? 1024 : 1));
    strip.set("stop", Json::integer(0));
    steps.push(std::move(strip));
  }
  decoder.set("decoders", std::move(steps));
  return Json::object(
      {{"added_tokens", Json::array(std::move(added))}, {"decoder", std::move(decoder)}});
}

Result<Model> read_model(const JsonObjectReader& file, bool byte_level) {
  TAPML_ASSIGN(const JsonObjectReader model, file.required_object("model"));
  TAPML_ASSIGN(const std::optional<std::string> type, model.optional_string("type"));
  if (type == "WordPiece") {
    if (byte_level) {
      return fail(file.field_error("pre_tokenizer", "has ByteLevel, which goes with BPE alone",
                                   "words of characters, as BertPreTokenizer makes them"));
    }
    return tokenizer::WordPieceModel::read(model);
  }
  if (type == "Unigram") {
    if (byte_level) {
      return fail(file.field_error("pre_tokenizer", "has ByteLevel, which goes with BPE alone",
                                   "words of characters, as Metaspace makes them"));
    }
    return tokenizer::UnigramModel::read(model);
  }
  // Files of early releases have no type; a model with merges is BPE.
  if (type ? type != "BPE" : !model.has("vocab") || !model.has("merges")) {
    return fail(model.field_error("type", "is not a supported tokenizer model",
                                  "\"BPE\", \"Unigram\" or \"WordPiece\""));
  }
  return tokenizer::BpeModel::read(
      model, byte_level ? tokenizer::BpeUnit::kByte : tokenizer::BpeUnit::kCharacter);
}

}  // namespace

struct Tokenizer::State {
  struct Entry {
    std::string text;
    bool special = false;
  };

  // Fills the table of tokens after the parts are read.
  void index_tokens() {
    for (const auto& [text, id] : vocab()) index(id, text);
    for (const auto& token : added.tokens()) {
      index(token.id, token.text);
      entries[entry_of[token.id]] = {token.text, token.special};
      added_ids.emplace(token.content, token.id);
    }
    for (const auto& token : added.tokens()) {
      if (!vocab().contains(token.text)) added_ids.emplace(token.text, token.id);
    }
  }

  // If the file has no template, add_bos_token and add_eos_token of the configuration make one, as
  // the tokenizer's own class does; otherwise the template counts, as in transformers.
  void apply_flags(const tokenizer::TokenizerConfig& config, const std::string& source) {
    std::vector<int32_t> sides[2];
    struct Side {
      const char* key;
      std::optional<bool> wanted;
      const std::optional<std::string>& content;
      const std::vector<int32_t>& present;
    };
    const Side keys[] = {{"add_bos_token", config.add_bos, config.bos, post_processor.before()},
                         {"add_eos_token", config.add_eos, config.eos, post_processor.after()}};
    for (int i = 0; i < 2; ++i) {
      const Side& side = keys[i];
      if (!side.wanted || !side.content) continue;
      const auto found = added_ids.find(*side.content);
      if (found == added_ids.end()) continue;  // a piece that is no special token
      const int32_t id = found->second;
      if (*side.wanted) sides[i].push_back(id);
      const bool has = std::ranges::find(side.present, id) != side.present.end();
      if (!post_processor.has_template() || has == *side.wanted) continue;
      warnings.push_back(
          source + ": " + in_quotes(side.key) + " is " + (*side.wanted ? "true" : "false") +
          ", but the template of tokenizer.json " + (has ? "adds " : "does not add ") +
          in_quotes(*side.content) + ": the template counts, as in transformers");
    }
    if (!post_processor.has_template()) {
      post_processor.set_template(std::move(sides[0]), std::move(sides[1]));
    }
  }

  // Appends the ids of a piece without tokens that are matched before normalization.
  Status encode_piece(std::string_view text, bool at_start, tokenizer::BpeModel::Scratch& scratch,
                      std::vector<int32_t>& ids) const {
    std::string normalized;
    if (!normalizer.is_identity()) {
      TAPML_ASSIGN(normalized, normalizer.normalize(text));
      text = normalized;
    }
    TAPML_ASSIGN(const auto pieces, added.split_normalized(text));
    for (const auto& piece : pieces) {
      if (piece.id >= 0) {
        ids.push_back(piece.id);
        continue;
      }
      TAPML_ASSIGN(const auto words, pre_tokenizer.split(part_of(text, piece.span),
                                                         at_start && piece.span.begin == 0));
      for (const std::string_view word : words.views()) {
        encode_word(word, at_start && piece.span.begin == 0, scratch, ids);
      }
    }
    return {};
  }

  void encode_word(std::string_view word, bool at_start, tokenizer::BpeModel::Scratch& scratch,
                   std::vector<int32_t>& ids) const {
    if (const auto* bpe = std::get_if<tokenizer::BpeModel>(&model)) {
      bpe->encode(word, scratch, ids);
    } else if (const auto* words = std::get_if<tokenizer::WordPieceModel>(&model)) {
      words->encode(word, ids);
    } else if (const auto* pieces = std::get_if<tokenizer::SentencePieceModel>(&model)) {
      pieces->encode(word, at_start, ids);
    } else if (const auto* unigrams = std::get_if<tokenizer::UnigramModel>(&model)) {
      unigrams->encode(word, ids);
    } else {
      std::get<tokenizer::LongestMatchModel>(model).encode(word, ids);
    }
  }

  const tokenizer::TokenIds& vocab() const {
    return std::visit([](const auto& one) -> const tokenizer::TokenIds& { return one.vocab(); },
                      model);
  }

  void index(int32_t id, const std::string& text) {
    const auto at = static_cast<size_t>(id);
    if (at >= entry_of.size()) entry_of.resize(at + 1, -1);
    if (entry_of[at] >= 0) return;
    entry_of[at] = static_cast<int32_t>(entries.size());
    entries.push_back({text, false});
  }

  const Entry* find(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= entry_of.size() || entry_of[id] < 0) return nullptr;
    return &entries[entry_of[id]];
  }

  tokenizer::Normalizer normalizer;
  tokenizer::PreTokenizer pre_tokenizer;
  Model model;
  tokenizer::AddedTokens added;
  tokenizer::PostProcessor post_processor;
  tokenizer::Decoder decoder;
  std::vector<int32_t> entry_of;  // by id; -1 for no token
  std::vector<Entry> entries;
  tokenizer::TokenIds added_ids;
  std::vector<std::string> warnings;
};

Tokenizer::Tokenizer(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view source,
                                   const tokenizer::RegexEngine& engine,
                                   const tokenizer::UnicodeTables* unicode,
                                   const tokenizer::TokenizerFiles& files) {
  TAPML_ASSIGN(const Json document, parse_json(json, source));
  TAPML_TRY(check_header({document, std::string(source)}));
  TAPML_ASSIGN(const auto config, tokenizer::read_tokenizer_config(files));
  return read_document(document, source, engine, unicode, config, files);
}

Result<Tokenizer> Tokenizer::parse_merges(const tokenizer::NamedText& vocab,
                                          const tokenizer::NamedText& merges,
                                          const tokenizer::RegexEngine& engine,
                                          const tokenizer::UnicodeTables* unicode,
                                          const tokenizer::TokenizerFiles& files) {
  TAPML_ASSIGN(const auto config, tokenizer::read_tokenizer_config(files));
  TAPML_ASSIGN(
      const Json document,
      tokenizer::document_of_merges(vocab.text, vocab.source, merges.text, merges.source, config));
  return read_document(document, vocab.source, engine, unicode, config, files);
}

Result<Tokenizer> Tokenizer::parse_tiktoken(std::string_view vocabulary, std::string_view source,
                                            const tokenizer::RegexEngine& engine,
                                            const tokenizer::UnicodeTables* unicode,
                                            const tokenizer::TokenizerFiles& files) {
  TAPML_ASSIGN(const auto tokens, tokenizer::read_tiktoken_file(vocabulary, source));
  TAPML_ASSIGN(const auto config, tokenizer::read_tokenizer_config(files));
  const Json document = tokenizer::document_of_tiktoken(config);
  const JsonObjectReader file(document, std::string(source));
  auto state = std::make_unique<State>();
  TAPML_ASSIGN(state->normalizer, tokenizer::Normalizer::read(file, engine, unicode));
  TAPML_ASSIGN(state->pre_tokenizer, tokenizer::PreTokenizer::read(file, engine));
  TAPML_ASSIGN(state->model, tokenizer::BpeModel::of_ranks(tokens, source));
  return finish(std::move(state), file, engine, config, files.config.source);
}

Result<Tokenizer> Tokenizer::read_document(const Json& document, std::string_view source,
                                           const tokenizer::RegexEngine& engine,
                                           const tokenizer::UnicodeTables* unicode,
                                           const tokenizer::TokenizerConfig& config,
                                           const tokenizer::TokenizerFiles& files) {
  const JsonObjectReader file(document, std::string(source));
  auto state = std::make_unique<State>();
  TAPML_ASSIGN(state->normalizer, tokenizer::Normalizer::read(file, engine, unicode));
  TAPML_ASSIGN(state->pre_tokenizer, tokenizer::PreTokenizer::read(file, engine));
  TAPML_ASSIGN(state->model, read_model(file, state->pre_tokenizer.byte_level()));
  return finish(std::move(state), file, engine, config, files.config.source);
}

Result<Tokenizer> Tokenizer::parse_rwkv(std::string_view vocabulary, std::string_view source,
                                        const tokenizer::RegexEngine& engine,
                                        const tokenizer::TokenizerFiles& files) {
  TAPML_ASSIGN(const auto tokens, tokenizer::read_rwkv_vocabulary(vocabulary, source));
  TAPML_ASSIGN(const auto config, tokenizer::read_tokenizer_config(files));
  const Json document = text_of_bytes(config);
  const JsonObjectReader file(document, std::string(source));
  auto state = std::make_unique<State>();
  TAPML_ASSIGN(state->pre_tokenizer, tokenizer::PreTokenizer::read(file, engine));
  TAPML_ASSIGN(state->model, tokenizer::LongestMatchModel::make(tokens, source));
  return finish(std::move(state), file, engine, config, files.config.source);
}

Result<Tokenizer> Tokenizer::parse_sentencepiece(std::string_view bytes, std::string_view source,
                                                 const tokenizer::RegexEngine& engine,
                                                 const tokenizer::TokenizerFiles& files) {
  TAPML_ASSIGN(auto pieces, tokenizer::read_sentencepiece_file(bytes, source));
  return of_pieces(std::move(pieces), source, engine, files);
}

Result<Tokenizer> Tokenizer::of_pieces(tokenizer::SentencePieceFile pieces, std::string_view source,
                                       const tokenizer::RegexEngine& engine,
                                       const tokenizer::TokenizerFiles& files) {
  TAPML_ASSIGN(auto config, tokenizer::read_tokenizer_config(files));
  const auto text_of = [&](int32_t id) {
    return id < 0 || id >= std::ssize(pieces.pieces)
               ? std::nullopt
               : std::optional(pieces.pieces[static_cast<size_t>(id)].text);
  };
  if (!config.bos) config.bos = text_of(pieces.bos);
  if (!config.eos) config.eos = text_of(pieces.eos);
  if (!config.add_bos) config.add_bos = true;
  const Json document = text_of_pieces(pieces, config);
  const JsonObjectReader file(document, std::string(source));
  auto state = std::make_unique<State>();
  TAPML_ASSIGN(state->pre_tokenizer, tokenizer::PreTokenizer::read(file, engine));
  const bool prefix_once = config.legacy && !*config.legacy;
  TAPML_ASSIGN(state->model,
               tokenizer::SentencePieceModel::make(std::move(pieces), source, prefix_once));
  return finish(std::move(state), file, engine, config, files.config.source);
}

Result<Tokenizer> Tokenizer::finish(std::unique_ptr<State> state, const JsonObjectReader& file,
                                    const tokenizer::RegexEngine& engine,
                                    const tokenizer::TokenizerConfig& config,
                                    const std::string& source) {
  TAPML_ASSIGN(state->added,
               tokenizer::AddedTokens::read(file, config, state->vocab(), state->normalizer, engine,
                                            state->warnings));
  TAPML_ASSIGN(state->post_processor, tokenizer::PostProcessor::read(file));
  TAPML_ASSIGN(state->decoder, tokenizer::Decoder::read(file, engine));
  state->index_tokens();
  state->apply_flags(config, source);
  for (const auto* ids : {&state->post_processor.before(), &state->post_processor.after()}) {
    for (const int32_t id : *ids) {
      if (state->find(id) == nullptr) {
        return fail(file.field_error("post_processor",
                                     "adds the id " + std::to_string(id) + ", which no token has",
                                     "ids of model.vocab or added_tokens"));
      }
    }
  }
  return Tokenizer(std::move(state));
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               bool add_special_tokens) const {
  if (text.size() > kMaxTextBytes) {
    return fail(user_error("the text is too long to encode", "text",
                           "at most " + std::to_string(kMaxTextBytes) + " bytes",
                           std::to_string(text.size()) + " bytes"));
  }
  if (const size_t bad = tokenizer::find_invalid_utf8(text); bad != text.npos) {
    constexpr char kHex[] = "0123456789ABCDEF";
    const auto byte = static_cast<uint8_t>(text[bad]);
    return fail(user_error("the text is not valid UTF-8",
                           "byte " + std::to_string(bad) + " of the text", "UTF-8",
                           std::string("an ill-formed sequence that starts with 0x") +
                               kHex[byte >> 4] + kHex[byte & 15]));
  }
  std::vector<int32_t> ids;
  const auto& post = state_->post_processor;
  if (add_special_tokens) ids = post.before();
  TAPML_ASSIGN(const auto pieces, state_->added.split(text));
  tokenizer::BpeModel::Scratch scratch;
  for (const auto& piece : pieces) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else {
      TAPML_TRY(
          state_->encode_piece(part_of(text, piece.span), piece.span.begin == 0, scratch, ids));
    }
  }
  if (add_special_tokens) ids.insert(ids.end(), post.after().begin(), post.after().end());
  return ids;
}

Result<std::vector<int32_t>> Tokenizer::encode_prompt(std::string_view text, bool* repeated) const {
  TAPML_ASSIGN(std::vector<int32_t> ids, encode(text));
  const auto& before = state_->post_processor.before();
  const auto count = static_cast<std::ptrdiff_t>(before.size());
  const bool twice = count > 0 && static_cast<std::ptrdiff_t>(ids.size()) >= 2 * count &&
                     std::equal(before.begin(), before.end(), ids.begin() + count);
  if (twice) ids.erase(ids.begin(), ids.begin() + count);
  if (repeated) *repeated = twice;
  return ids;
}

const std::vector<std::string>& Tokenizer::warnings() const { return state_->warnings; }

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  StreamDecoder stream(*this, skip_special);
  std::string out;
  for (const int32_t id : ids) stream.append(id, out);
  return out += stream.finish();
}

int64_t Tokenizer::vocab_size() const { return static_cast<int64_t>(state_->entry_of.size()); }

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  for (const auto* ids : {&state_->added_ids, &state_->vocab()}) {
    if (const auto found = ids->find(token); found != ids->end()) return found->second;
  }
  return std::nullopt;
}

std::optional<std::string_view> Tokenizer::id_to_token(int32_t id) const {
  const State::Entry* entry = state_->find(id);
  if (entry == nullptr) return std::nullopt;
  return entry->text;
}

bool Tokenizer::is_special(int32_t id) const {
  const State::Entry* entry = state_->find(id);
  return entry != nullptr && entry->special;
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(&tokenizer), skip_special_(skip_special), stream_(tokenizer.state_->decoder) {}

void StreamDecoder::append(int32_t id, std::string& out) {
  const Tokenizer::State::Entry* entry = tokenizer_->state_->find(id);
  if (entry == nullptr || (skip_special_ && entry->special)) return;
  stream_.push(entry->text, out);
}

std::string StreamDecoder::push(int32_t id) {
  std::string out;
  append(id, out);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  stream_.finish(out);
  return out;
}

}  // namespace tapml
