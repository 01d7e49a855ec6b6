#include "llm/tokenizer/bpe.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// Longer words are rare, and would fill the cache without being used again.
constexpr size_t kMaxCachedWord = 64;
constexpr size_t kMaxCachedWords = 16384;

uint64_t pair_key(int32_t left, int32_t right) {
  return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
}

// The two tokens of a merge, in either of the forms that files use; nothing for other values.
std::optional<std::pair<std::string_view, std::string_view>> split_merge(const Json& item) {
  if (item.is_string()) {
    const std::string_view text = item.as_string();
    const size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos) return std::nullopt;
    return std::pair(text.substr(0, space), text.substr(space + 1));
  }
  if (item.is_array() && item.items().size() == 2 && item.items()[0].is_string() &&
      item.items()[1].is_string()) {
    return std::pair(std::string_view(item.items()[0].as_string()),
                     std::string_view(item.items()[1].as_string()));
  }
  return std::nullopt;
}

// "<0xHH>", the byte fallback token of a byte.
std::string byte_token(int byte) {
  constexpr char kHex[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
}

}  // namespace

void MergeTable::reserve(size_t count) {
  size_t slots = 16;
  while (slots < count * 2) slots *= 2;
  if (slots > slots_.size()) grow(slots);
}

size_t MergeTable::slot_of(uint64_t key) const {
  const size_t mask = slots_.size() - 1;
  uint64_t mixed = key * 0x9E3779B97F4A7C15u;
  size_t slot = static_cast<size_t>(mixed ^ (mixed >> 32)) & mask;
  while (slots_[slot].key != kEmpty && slots_[slot].key != key) slot = (slot + 1) & mask;
  return slot;
}

void MergeTable::grow(size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != kEmpty) slots_[slot_of(slot.key)] = slot;
  }
}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  reserve(used_ + 1);
  Slot& slot = slots_[slot_of(pair_key(left, right))];
  if (slot.key == kEmpty) ++used_;
  slot = {pair_key(left, right), merge};
}

const MergeTable::Merge* MergeTable::find(int32_t left, int32_t right) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[slot_of(pair_key(left, right))];
  return slot.key == kEmpty ? nullptr : &slot.merge;
}

Result<BpeModel> BpeModel::read(const JsonObjectReader& model, BpeUnit unit) {
  BpeModel bpe;
  bpe.unit_ = unit;
  TAPML_TRY(bpe.read_options(model));
  TAPML_ASSIGN(bpe.vocab_, read_vocabulary(model));
  TAPML_TRY(bpe.index_units(model));
  TAPML_TRY(bpe.read_merges(model));
  return bpe;
}

Result<BpeModel> BpeModel::of_ranks(const std::vector<RwkvToken>& tokens, std::string_view source) {
  BpeModel bpe;
  bpe.ignore_merges_ = true;
  bpe.byte_ids_.fill(-1);
  bpe.ascii_ids_.fill(-1);
  for (const RwkvToken& token : tokens) {
    bpe.vocab_.emplace(spell_bytes(token.bytes), token.id);
    bpe.words_.emplace(token.bytes, token.id);
    if (token.bytes.size() == 1) bpe.byte_ids_[static_cast<uint8_t>(token.bytes[0])] = token.id;
  }
  if (const auto missing = std::ranges::find(bpe.byte_ids_, -1); missing != bpe.byte_ids_.end()) {
    return fail(user_error("the vocabulary has no token for the byte " +
                               std::to_string(missing - bpe.byte_ids_.begin()) + " alone",
                           std::string(source), "a token for each of the 256 bytes",
                           std::to_string(tokens.size()) + " tokens without this one",
                           "download the file again"));
  }
  for (const RwkvToken& token : tokens) {
    const std::string_view bytes = token.bytes;
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = bpe.words_.find(bytes.substr(0, cut));
      if (left == bpe.words_.end()) continue;
      const auto right = bpe.words_.find(bytes.substr(cut));
      if (right == bpe.words_.end()) continue;
      bpe.merges_.insert(left->second, right->second, {static_cast<uint32_t>(token.id), token.id});
    }
  }
  return bpe;
}

Status BpeModel::read_options(const JsonObjectReader& model) {
  TAPML_ASSIGN(ignore_merges_, model.bool_or("ignore_merges", false));
  TAPML_ASSIGN(fuse_unknown_, model.bool_or("fuse_unk", false));
  TAPML_ASSIGN(byte_fallback_, model.bool_or("byte_fallback", false));
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    TAPML_ASSIGN(const std::string mark, model.string_or(key, ""));
    if (!mark.empty()) {
      return fail(model.field_error(key, "is not supported", "null or an empty string"));
    }
  }
  TAPML_ASSIGN(const double dropout, model.float_or("dropout", 0));
  if (dropout != 0) {
    return fail(model.field_error("dropout", "is not supported: encoding must be deterministic",
                                  "null or 0"));
  }
  return {};
}

Status BpeModel::read_merges(const JsonObjectReader& model) {
  TAPML_ASSIGN(const std::vector<Json>* items, model.required_array("merges"));
  merges_.reserve(items->size());
  has_seams_ = unit_ == BpeUnit::kCharacter;
  uint32_t rank = 0;
  std::string joined;
  for (size_t i = 0; i < items->size(); ++i) {
    const Json& item = (*items)[i];
    const auto wrong = [&](std::string_view problem, std::string expected) {
      return fail(model.item_error(item, "merges[" + std::to_string(i) + "]", problem,
                                   std::move(expected)));
    };
    // Some files keep the first line of a merges.txt.
    if (item.is_string() && item.as_string().starts_with("#version")) continue;
    const auto pair = split_merge(item);
    if (!pair) return wrong("is not a merge", "\"a b\" or [\"a\", \"b\"]");
    joined.assign(pair->first).append(pair->second);
    const std::string_view texts[3] = {pair->first, pair->second, joined};
    int32_t ids[3];
    for (int part = 0; part < 3; ++part) {
      const auto found = vocab_.find(texts[part]);
      if (found == vocab_.end()) {
        return wrong((part == 2 ? "makes " : "names ") + in_quotes(texts[part]) +
                         ", which is not in the vocabulary",
                     "tokens of model.vocab");
      }
      ids[part] = found->second;
    }
    merges_.insert(ids[0], ids[1], {rank++, ids[2]});
    if (unit_ == BpeUnit::kCharacter) add_seam(pair->first, pair->second);
  }
  return {};
}

// For a merge whose sides are tokens.
void BpeModel::add_seam(std::string_view left, std::string_view right) {
  for (const std::string_view side : {left, right}) {
    // A token of this form may be one symbol from the start.
    if (side.starts_with("<0x")) has_seams_ = false;
    if (unknown_id_ >= 0 && vocab_.find(side)->second == unknown_id_) has_seams_ = false;
  }
  if (left.empty() || right.empty()) return;
  const int32_t before = character_id(left.substr(previous_start(left, left.size())));
  const int32_t after = character_id(right.substr(0, next_utf8(right, 0).length));
  if (before >= 0 && after >= 0) seams_.insert(pair_key(before, after));
}

// The end of the part of `word` that starts at `begin`, such that no merge crosses it.
size_t BpeModel::part_end(std::string_view word, size_t begin) const {
  size_t at = begin + next_utf8(word, begin).length;
  int32_t before = character_id(word.substr(begin, at - begin));
  while (at < word.size()) {
    const size_t length = next_utf8(word, at).length;
    const int32_t after = character_id(word.substr(at, length));
    if (before >= 0 && after >= 0 && !seams_.contains(pair_key(before, after))) break;
    before = after;
    at += length;
  }
  return at;
}

Status BpeModel::index_units(const JsonObjectReader& model) {
  const bool bytes_are_units = unit_ == BpeUnit::kByte;
  auto id_of = [this](const std::string& token) {
    const auto found = vocab_.find(token);
    return found == vocab_.end() ? -1 : found->second;
  };
  bool all_known = bytes_are_units || byte_fallback_;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_ids_[byte] = id_of(bytes_are_units ? spell_bytes({&c, 1}) : byte_token(byte));
    all_known = all_known && byte_ids_[byte] >= 0;
  }
  for (int c = 0; c < 128; ++c) ascii_ids_[c] = id_of(std::string(1, static_cast<char>(c)));
  if (bytes_are_units && byte_fallback_ && !all_known) {
    return fail(model.field_error(
        "byte_fallback", "is not supported in a byte-level vocabulary that lacks bytes", "false"));
  }
  TAPML_ASSIGN(const std::optional<std::string> unknown, model.optional_string("unk_token"));
  // An unknown token that is never needed may not exist (some files have "").
  if (unknown && !all_known) {
    const auto found = vocab_.find(*unknown);
    if (found == vocab_.end()) {
      return fail(
          model.field_error("unk_token", "is not in the vocabulary", "a token of model.vocab"));
    }
    unknown_id_ = found->second;
  }
  if (ignore_merges_ && bytes_are_units) {
    std::string bytes;
    for (const auto& [token, id] : vocab_) {
      bytes.clear();
      if (unspell_bytes(token, bytes)) words_.emplace(bytes, id);
    }
  }
  return {};
}

void BpeModel::encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (word.empty()) return;
  if (ignore_merges_) {
    const TokenIds& words = unit_ == BpeUnit::kByte ? words_ : vocab_;
    if (const auto found = words.find(word); found != words.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  if (!has_seams_ || word.size() <= kMaxCachedWord) return encode_part(word, scratch, ids);
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = part_end(word, begin);
    encode_part(word.substr(begin, end - begin), scratch, ids);
    begin = end;
  }
}

void BpeModel::encode_part(std::string_view word, Scratch& scratch,
                           std::vector<int32_t>& ids) const {
  const bool cacheable = word.size() <= kMaxCachedWord;
  if (cacheable) {
    if (const auto found = scratch.cache.find(word); found != scratch.cache.end()) {
      const auto begin = scratch.cached_ids.begin() + found->second.begin;
      ids.insert(ids.end(), begin, begin + found->second.count);
      return;
    }
  }
  scratch.symbols.clear();
  if (unit_ == BpeUnit::kByte) {
    start_bytes(word, scratch);
  } else {
    start_characters(word, scratch);
  }
  if (!scratch.symbols.empty()) scratch.symbols.back().next = -1;
  merge_symbols(scratch);
  const size_t before = ids.size();
  for (const auto& symbol : scratch.symbols) {
    if (symbol.alive) ids.push_back(symbol.token);
  }
  if (cacheable && scratch.cache.size() < kMaxCachedWords) {
    const auto begin = static_cast<uint32_t>(scratch.cached_ids.size());
    scratch.cached_ids.insert(scratch.cached_ids.end(), ids.begin() + before, ids.end());
    scratch.cache.emplace(word, Scratch::Cached{begin, static_cast<uint32_t>(ids.size() - before)});
  }
}

void BpeModel::Scratch::append(int32_t token) {
  const auto index = static_cast<int32_t>(symbols.size());
  symbols.push_back({token, index - 1, index + 1, true});
}

void BpeModel::start_bytes(std::string_view word, Scratch& scratch) const {
  bool after_unknown = false;
  for (const char c : word) {
    int32_t token = byte_ids_[static_cast<uint8_t>(c)];
    const bool unknown = token < 0;
    if (unknown) {
      if (unknown_id_ < 0) continue;
      if (fuse_unknown_ && after_unknown) continue;
      token = unknown_id_;
    }
    after_unknown = unknown;
    scratch.append(token);
  }
}

int32_t BpeModel::character_id(std::string_view character) const {
  if (character.size() == 1) return ascii_ids_[static_cast<uint8_t>(character[0])];
  const auto found = vocab_.find(character);
  return found == vocab_.end() ? -1 : found->second;
}

// An unknown character is added before the next known one, or at the end, after any bytes before
// that: the order of the format's own implementation.
void BpeModel::start_characters(std::string_view word, Scratch& scratch) const {
  bool waiting = false;
  for (size_t i = 0; i < word.size();) {
    const std::string_view character = word.substr(i, next_utf8(word, i).length);
    i += character.size();
    const int32_t token = character_id(character);
    if (token >= 0) {
      if (std::exchange(waiting, false)) scratch.append(unknown_id_);
      scratch.append(token);
      continue;
    }
    const bool as_bytes =
        byte_fallback_ && std::all_of(character.begin(), character.end(), [this](char c) {
          return byte_ids_[static_cast<uint8_t>(c)] >= 0;
        });
    if (as_bytes) {
      for (const char c : character) scratch.append(byte_ids_[static_cast<uint8_t>(c)]);
    } else if (unknown_id_ >= 0) {
      if (waiting && !fuse_unknown_) scratch.append(unknown_id_);
      waiting = true;
    }
  }
  if (waiting) scratch.append(unknown_id_);
}

void BpeModel::consider(Scratch& scratch, int32_t left) const {
  if (left < 0 || scratch.symbols[left].next < 0) return;
  const auto& symbol = scratch.symbols[left];
  const auto* merge = merges_.find(symbol.token, scratch.symbols[symbol.next].token);
  if (merge == nullptr) return;
  scratch.heap.push_back({merge->rank, left, merge->result});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void BpeModel::merge_symbols(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  heap.clear();
  for (size_t i = 0; i < symbols.size(); ++i) consider(scratch, static_cast<int32_t>(i));
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Scratch::Candidate top = heap.back();
    heap.pop_back();
    auto& left = symbols[top.position];
    if (!left.alive || left.next < 0) continue;
    auto& right = symbols[left.next];
    // Neighbours may have changed since the candidate was queued.
    const auto* merge = merges_.find(left.token, right.token);
    if (merge == nullptr || merge->result != top.result) continue;
    left.token = top.result;
    right.alive = false;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = top.position;
    consider(scratch, left.previous);
    consider(scratch, top.position);
  }
}

}  // namespace tapml::tokenizer
