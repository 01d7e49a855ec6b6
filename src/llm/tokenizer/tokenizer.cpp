#include "llm/tokenizer/tokenizer.h"

#include "io/json.h"
#include "io/json_reader.h"
#include "llm/tokenizer/added_tokens.h"
#include "llm/tokenizer/bpe.h"
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/decoder.h"
#include "llm/tokenizer/post_processor.h"
#include "llm/tokenizer/pre_tokenizer.h"

namespace tapml {
namespace {

// Keeps offsets of symbols within 32 bits.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

Status check_header(const JsonObjectReader& file) {
  TAPML_ASSIGN(const std::string version, file.string_or("version", "1.0"));
  if (version != "1.0") {
    return fail(file.field_error("version", "is not a known version of the format", "\"1.0\""));
  }
  // A normalizer would have to be carried out exactly; without one the text is taken as it is.
  if (file.has("normalizer")) {
    return fail(file.field_error("normalizer", "is not supported", "null (no normalizer)"));
  }
  return {};
}

}  // namespace

struct Tokenizer::State {
  struct Entry {
    std::string text;
    bool special = false;
  };

  State(tokenizer::BpeModel model_in, tokenizer::AddedTokens added_in,
        tokenizer::PreTokenizer pre_tokenizer_in, tokenizer::PostProcessor post_processor_in)
      : model(std::move(model_in)),
        added(std::move(added_in)),
        pre_tokenizer(std::move(pre_tokenizer_in)),
        post_processor(std::move(post_processor_in)) {
    for (const auto& [text, id] : model.vocab()) index(id, text);
    for (const auto& token : added.tokens()) {
      index(token.id, token.content);
      entries[entry_of[token.id]].special = token.special;
      added_ids.emplace(token.content, token.id);
    }
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

  tokenizer::BpeModel model;
  tokenizer::AddedTokens added;
  tokenizer::PreTokenizer pre_tokenizer;
  tokenizer::PostProcessor post_processor;
  std::vector<int32_t> entry_of;  // by id; -1 where there is no token
  std::vector<Entry> entries;
  tokenizer::TokenIds added_ids;
};

Tokenizer::Tokenizer(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view source,
                                   const tokenizer::RegexEngine& engine) {
  TAPML_ASSIGN(const Json document, parse_json(json, source));
  const JsonObjectReader file(document, std::string(source));
  TAPML_TRY(check_header(file));
  TAPML_ASSIGN(const JsonObjectReader model_field, file.required_object("model"));
  TAPML_ASSIGN(auto model, tokenizer::BpeModel::read(model_field));
  TAPML_ASSIGN(auto pre_tokenizer, tokenizer::PreTokenizer::read(file, engine));
  TAPML_ASSIGN(auto added, tokenizer::AddedTokens::read(file, model.vocab(), engine));
  TAPML_ASSIGN(auto post_processor, tokenizer::PostProcessor::read(file));
  TAPML_TRY(tokenizer::check_decoder(file));

  auto state = std::make_unique<State>(std::move(model), std::move(added), std::move(pre_tokenizer),
                                       std::move(post_processor));
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
      continue;
    }
    TAPML_ASSIGN(const auto words, state_->pre_tokenizer.split(text.substr(
                                       piece.span.begin, piece.span.end - piece.span.begin)));
    for (const std::string_view word : words.views()) state_->model.encode(word, scratch, ids);
  }
  if (add_special_tokens) ids.insert(ids.end(), post.after().begin(), post.after().end());
  return ids;
}

void Tokenizer::append_bytes(int32_t id, bool skip_special, std::string& out) const {
  const State::Entry* entry = state_->find(id);
  if (entry == nullptr || (skip_special && entry->special)) return;
  // Added tokens are plain text; those that happen to be in the byte alphabet read as bytes.
  if (!tokenizer::unspell_bytes(entry->text, out)) out += entry->text;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string bytes, out;
  for (const int32_t id : ids) append_bytes(id, skip_special, bytes);
  tokenizer::Utf8Stream stream;
  stream.push(bytes, out);
  stream.finish(out);
  return out;
}

int64_t Tokenizer::vocab_size() const { return static_cast<int64_t>(state_->entry_of.size()); }

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  for (const auto* ids : {&state_->added_ids, &state_->model.vocab()}) {
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

std::string StreamDecoder::push(int32_t id) {
  std::string bytes, out;
  tokenizer_->append_bytes(id, skip_special_, bytes);
  stream_.push(bytes, out);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  stream_.finish(out);
  return out;
}

}  // namespace tapml
