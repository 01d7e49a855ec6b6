// The metadata of a GGUF file that is made of a published configuration: the inverse of
// gguf_config(), by the same tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "abi/model_interface.h"
#include "frontend/gguf/architectures.h"
#include "frontend/huggingface/config.h"
#include "io/gguf_writer.h"
#include "models/config_fields.h"

namespace tapml::frontend {

struct PublishedDecoder {
  std::string source;  // the config.json
  Json json;           // the fields of the language model
  HuggingFaceConfig config;
  models::DecoderConfig fields;  // with the defaults of absent ones
  std::vector<StateTensor> state;

  JsonObjectReader reader() const { return {json, source}; }
};

// Of the text of a config.json. UserError as of parse_config(), and for an encoder and a decoder
// without attention.
PublishedDecoder read_published_decoder(std::string_view text, const std::string& source);

// Adds keys of an architecture: ".embedding_length" without its name.
class GgufFieldWriter {
 public:
  GgufFieldWriter(std::string_view architecture, GgufMetadata& to)
      : architecture_(architecture), to_(to) {}

  void integer(std::string_view key, int64_t value) { to_.add(whole(key), value); }
  void number(std::string_view key, double value) { to_.add(whole(key), value); }
  void flag(std::string_view key, bool value) { to_.add(whole(key), value); }
  void text(std::string_view key, std::string value) { to_.add_text(whole(key), std::move(value)); }
  void array(std::string_view key, GgufValue values) { to_.add(whole(key), std::move(values)); }

 private:
  std::string whole(std::string_view key) const { return architecture_ + std::string(key); }

  std::string architecture_;
  GgufMetadata& to_;
};

// Adds all keys of the architecture. UserError for a scaling of positions that files do not have.
void write_gguf_fields(const GgufArchitecture& architecture, const PublishedDecoder& model,
                       GgufMetadata& to);

// GgufArchitecture::write of those that have one.
void write_llama(const PublishedDecoder& model, GgufFieldWriter& to);
void write_olmo(const PublishedDecoder& model, GgufFieldWriter& to);
void write_window_layers(const PublishedDecoder& model, GgufFieldWriter& to);
void write_minicpm(const PublishedDecoder& model, GgufFieldWriter& to);
void write_lfm2(const PublishedDecoder& model, GgufFieldWriter& to);

}  // namespace tapml::frontend
