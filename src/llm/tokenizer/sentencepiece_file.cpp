#include "llm/tokenizer/sentencepiece_file.h"

#include <bit>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "llm/tokenizer/utf8.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

namespace {

// One field of a message in the wire format of protocol buffers.
struct WireField {
  uint64_t number = 0;
  uint64_t value = 0;      // of a varint or a fixed number
  std::string_view bytes;  // of a text or a message
};

// Reads fields one after the other.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  bool ended() const { return bytes_.empty(); }
  // Nothing for what is not a field.
  std::optional<WireField> next() {
    const auto key = varint();
    if (!key || *key >> 3 == 0) return std::nullopt;
    WireField field{.number = *key >> 3};
    switch (*key & 7) {
      case 0: {
        const auto value = varint();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1:
        return fixed(field, 8);
      case 2: {
        const auto size = varint();
        if (!size || *size > bytes_.size()) return std::nullopt;
        field.bytes = bytes_.substr(0, static_cast<size_t>(*size));
        bytes_.remove_prefix(field.bytes.size());
        return field;
      }
      case 5:
        return fixed(field, 4);
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::optional<WireField> fixed(WireField field, size_t size) {
    if (bytes_.size() < size) return std::nullopt;
    for (size_t i = 0; i < size; ++i) {
      field.value |= uint64_t{static_cast<uint8_t>(bytes_[i])} << (8 * i);
    }
    bytes_.remove_prefix(size);
    return field;
  }

  std::string_view bytes_;
};

class FileReader {
 public:
  FileReader(std::string_view bytes, std::string_view source) : bytes_(bytes), source_(source) {}

  Result<SentencePieceFile> read() {
    WireReader reader(bytes_);
    while (!reader.ended()) {
      const auto field = reader.next();
      if (!field) return damaged();
      if (field->number == 1) TAPML_TRY(read_piece(field->bytes));
      if (field->number == 2) TAPML_TRY(read_trainer(field->bytes));
      if (field->number == 3) TAPML_TRY(read_normalizer(field->bytes));
    }
    if (file_.pieces.empty()) return damaged();
    return std::move(file_);
  }

 private:
  std::unexpected<Error> damaged() const {
    return fail(user_error(std::string(source_) + " is not a SentencePiece model",
                           std::string(source_), "a tokenizer.model with pieces",
                           std::to_string(bytes_.size()) + " bytes of another form",
                           "download the file again"));
  }

  std::unexpected<Error> refused(std::string problem, std::string expected,
                                 std::string found) const {
    return fail(user_error(std::move(problem), std::string(source_), std::move(expected),
                           std::move(found)));
  }

  Status read_piece(std::string_view bytes) {
    SentencePiece piece;
    WireReader reader(bytes);
    while (!reader.ended()) {
      const auto field = reader.next();
      if (!field) return damaged();
      if (field->number == 1) piece.text = std::string(field->bytes);
      if (field->number == 2)
        piece.score = std::bit_cast<float>(static_cast<uint32_t>(field->value));
      if (field->number == 3) {
        if (field->value < 1 || field->value > 6) return damaged();
        piece.kind = static_cast<PieceKind>(field->value);
      }
    }
    const std::string name = "piece " + std::to_string(file_.pieces.size());
    if (find_invalid_utf8(piece.text) != std::string::npos || piece.text.empty()) {
      return refused(name + " is not a text", "UTF-8", "other bytes, or none");
    }
    // NaN has no place in an order.
    if (!(piece.score == piece.score)) return refused(name + " has no score", "a number", "NaN");
    if (!texts_.insert(piece.text).second) {
      return refused(name + " has the text of another piece", "different pieces", piece.text);
    }
    if (std::ssize(file_.pieces) > kMaxTokenId) {
      return refused("there are too many pieces", std::to_string(kMaxTokenId + 1), "more");
    }
    file_.pieces.push_back(std::move(piece));
    return {};
  }

  Status read_trainer(std::string_view bytes) {
    WireReader reader(bytes);
    while (!reader.ended()) {
      const auto field = reader.next();
      if (!field) return damaged();
      switch (field->number) {
        case 3:
          if (field->value != 1 && field->value != 2) {
            return refused("the model cuts words or characters", "a model of unigrams or of pairs",
                           "algorithm " + std::to_string(field->value));
          }
          file_.algorithm = static_cast<SentencePieceAlgorithm>(field->value);
          break;
        case 24:
          if (field->value != 0) {
            return refused("the model puts white space behind words", "white space before words",
                           "treat_whitespace_as_suffix");
          }
          break;
        case 35:
          file_.byte_fallback = field->value != 0;
          break;
        case 41:
          file_.bos = static_cast<int32_t>(field->value);
          break;
        case 42:
          file_.eos = static_cast<int32_t>(field->value);
          break;
        default:
          break;
      }
    }
    return {};
  }

  Status read_normalizer(std::string_view bytes) {
    WireReader reader(bytes);
    while (!reader.ended()) {
      const auto field = reader.next();
      if (!field) return damaged();
      if (field->number == 2) file_.characters_map = std::string(field->bytes);
      if (field->number == 3) file_.adds_dummy_prefix = field->value != 0;
      if (field->number == 4) file_.removes_extra_spaces = field->value != 0;
      if (field->number == 5) file_.escapes_spaces = field->value != 0;
    }
    return {};
  }

  std::string_view bytes_, source_;
  SentencePieceFile file_;
  std::unordered_set<std::string> texts_;
};

}  // namespace

Result<SentencePieceFile> read_sentencepiece_file(std::string_view bytes, std::string_view source) {
  return FileReader(bytes, source).read();
}

}  // namespace tapml::tokenizer
