// How each architecture of GGUF files is written: its published class, and the published fields and
// names of what the file calls otherwise.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "frontend/gguf/fields.h"
#include "io/json.h"

namespace tapml::frontend {

class GgufFieldWriter;
struct PublishedDecoder;

// What undoes a change that llama.cpp's converter makes to a weight.
enum class GgufChange : uint8_t {
  kNone,
  kPairedQueries,  // rows of a head are pairs (j, j + m) next to each other: moved m apart
  kPairedKeys,     // the same, by the number of key heads
  kPlusOne,        // a norm's weight is stored plus 1
  kTransposed,     // a matrix is stored as [outputs, inputs], and published the other way
  kByPart,         // rows of all queries, keys and values; published head by head
  kRow,            // a vector, published as a matrix of one row
  kTaps,           // a matrix, published with a dimension of 1 between its two
};

// "blk.{}.attn_q" is "model.layers.{}.self_attn.q_proj", each with ".weight" or ".bias".
struct GgufName {
  std::string_view stored, published;
  GgufChange change = GgufChange::kNone;
};

// How a published field is written; without one in config.json the file has the default, if there
// is one.
enum class GgufFieldKind : uint8_t {
  kInteger,
  kNumber,
  kFlag,
  kShared,  // DecoderConfig has it
};

// A key of the metadata (".embedding_length" without the architecture) and its published field.
struct GgufField {
  std::string_view key, published;
  GgufFieldKind kind = GgufFieldKind::kShared;
  std::optional<double> fallback = {};  // the class's default
};

struct GgufArchitecture {
  std::string_view name;  // "general.architecture"
  std::string_view class_name, model_type;
  std::span<const GgufName> names;         // before those of `base`
  std::span<const GgufName> base;          // what it has in common with others
  std::span<const GgufField> fields = {};  // besides those that all have
  // What else the published configuration has, or has otherwise; may be null.
  void (*finish)(const GgufFields& fields, Json& config) = nullptr;
  bool varies = false;  // fields that differ from layer to layer are up to `finish`
  // The inverse of `finish`: adds the keys that no rule of a field gives; may be null.
  void (*write)(const PublishedDecoder& model, GgufFieldWriter& to) = nullptr;
};

std::span<const GgufArchitecture> gguf_architectures();
// UserError that names the architecture and lists the known ones.
const GgufArchitecture& find_gguf_architecture(const GgufFields& fields);
// The published name and change of a tensor whose name has the pattern "blk.{}.attn_q"; null if the
// architecture has no such tensor.
const GgufName* find_gguf_name(const GgufArchitecture& architecture, std::string_view pattern);
// The same of a published name with the pattern "model.layers.{}.self_attn.q_proj".
const GgufName* find_published_name(const GgufArchitecture& architecture, std::string_view pattern);
// The architecture of files for models of this "model_type"; null if there is none.
const GgufArchitecture* find_gguf_architecture_of(std::string_view model_type);

}  // namespace tapml::frontend
