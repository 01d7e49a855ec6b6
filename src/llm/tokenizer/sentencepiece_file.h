// Reads a SentencePiece model (tokenizer.model): a protocol buffer of the pieces and of the
// settings of their model and normalizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml::tokenizer {

enum class PieceKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,  // always a piece of its own
  kUnused = 5,
  kByte = 6,
};

struct SentencePiece {
  std::string text;
  float score = 0;
  PieceKind kind = PieceKind::kNormal;
};

enum class SentencePieceAlgorithm : uint8_t { kUnigram = 1, kBpe = 2 };

struct SentencePieceFile {
  std::vector<SentencePiece> pieces;  // by id
  SentencePieceAlgorithm algorithm = SentencePieceAlgorithm::kUnigram;
  bool byte_fallback = false;
  int32_t bos = 1, eos = 2;  // -1: none
  // How texts are normalized. The map replaces prefixes of a text: see CharactersMap.
  std::string characters_map;
  bool adds_dummy_prefix = true, removes_extra_spaces = true, escapes_spaces = true;
};

// `bytes` is the file, `source` names it in errors. UserError for what is not such a file, or is
// truncated, pieces that are not UTF-8 or repeated, other algorithms (words, characters), and white
// space as a suffix.
Result<SentencePieceFile> read_sentencepiece_file(std::string_view bytes, std::string_view source);

}  // namespace tapml::tokenizer
