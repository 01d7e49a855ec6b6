// Byte-pair encoding of single words, on bytes or on characters.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "io/json_reader.h"
#include "llm/tokenizer/rwkv_vocabulary.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

// The rank and the result of every merge, by the pair of tokens that it joins.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = 0;
    int32_t result = -1;
  };

  void reserve(size_t count);
  // A later merge of the same pair replaces the earlier one.
  void insert(int32_t left, int32_t right, Merge merge);
  // nullptr if the pair does not merge.
  const Merge* find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  size_t slot_of(uint64_t key) const;
  void grow(size_t slots);

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

// The first symbols of a word.
enum class BpeUnit : uint8_t {
  kByte,       // words are bytes, and the vocabulary spells them in the byte alphabet
  kCharacter,  // words and vocabulary are plain UTF-8, as in SentencePiece
};

// Immutable after it is read.
class BpeModel {
 public:
  // Buffers that one thread reuses from word to word, with a bounded cache of whole words.
  class Scratch {
   private:
    friend class BpeModel;
    struct Symbol {
      int32_t token;
      int32_t previous, next;  // -1 at the ends
      bool alive;
    };
    struct Candidate {
      uint32_t rank;
      int32_t position;
      int32_t result;
      // The top of a heap is its greatest element: lowest rank first, then leftmost.
      bool operator<(const Candidate& other) const {
        return rank != other.rank ? rank > other.rank : position > other.position;
      }
    };
    void append(int32_t token);

    struct Cached {
      uint32_t begin, count;  // in cached_ids
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    std::unordered_map<std::string, Cached, StringHash, std::equal_to<>> cache;
    std::vector<int32_t> cached_ids;
  };

  // Reads the object `model` of a tokenizer.json whose type is BPE. UserError for unsupported
  // options, a vocabulary as of read_vocabulary(), and merges that are malformed or have unknown
  // tokens.
  static Result<BpeModel> read(const JsonObjectReader& model, BpeUnit unit);

  // Tiktoken's: two neighbors merge if a token has the bytes of both, the one of the lowest id
  // first, and a word that is a token is not cut. UserError for tokens without one for each byte;
  // `source` names them.
  static Result<BpeModel> of_ranks(const std::vector<RwkvToken>& tokens, std::string_view source);

  // The vocabulary, from token text to id, without added tokens.
  const TokenIds& vocab() const { return vocab_; }

  // Appends the ids of one word. A character without a token becomes the tokens <0xHH> of its bytes
  // if the model has byte fallback and all of these tokens. Otherwise it, or a byte without a
  // token, becomes the unknown token, or nothing if the model has none.
  void encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  Status read_options(const JsonObjectReader& model);
  Status read_merges(const JsonObjectReader& model);
  Status index_units(const JsonObjectReader& model);
  void add_seam(std::string_view left, std::string_view right);
  void start_bytes(std::string_view word, Scratch& scratch) const;
  void start_characters(std::string_view word, Scratch& scratch) const;
  int32_t character_id(std::string_view character) const;
  void encode_part(std::string_view part, Scratch& scratch, std::vector<int32_t>& ids) const;
  size_t part_end(std::string_view word, size_t begin) const;
  void merge_symbols(Scratch& scratch) const;
  void consider(Scratch& scratch, int32_t left) const;

  TokenIds vocab_;
  MergeTable merges_;
  // Pairs of single-character tokens at the seam of some merge: nothing ever merges between two
  // characters of another pair. Unused if merges join first symbols other than characters.
  std::unordered_set<uint64_t> seams_;
  bool has_seams_ = false;
  // Tokens of single bytes: in the byte alphabet, or <0xHH>; -1 for none.
  std::array<int32_t, 256> byte_ids_{};
  std::array<int32_t, 128> ascii_ids_{};  // tokens of single characters
  // Words by their bytes; only filled if whole words precede merges and are bytes.
  TokenIds words_;
  BpeUnit unit_ = BpeUnit::kByte;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
  bool fuse_unknown_ = false;
  int32_t unknown_id_ = -1;
};

}  // namespace tapml::tokenizer
