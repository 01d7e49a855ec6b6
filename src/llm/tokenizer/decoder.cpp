#include "llm/tokenizer/decoder.h"

#include <string>

#include "llm/tokenizer/object_items.h"

namespace tapml::tokenizer {
namespace {

constexpr const char* kKnown = "ByteLevel, or a Sequence of ByteLevel and then Fuse";

Status check(const JsonObjectReader& field, bool& byte_level_seen) {
  TAPML_ASSIGN(const std::string type, field.required_string("type"));
  if (type == "ByteLevel" && !byte_level_seen) {
    byte_level_seen = true;
    return {};
  }
  // Behind ByteLevel there is one string left, so that fusing changes nothing.
  if (type == "Fuse" && byte_level_seen) return {};
  if (type == "Sequence") {
    TAPML_ASSIGN(const auto items, object_items(field, "decoders"));
    for (const JsonObjectReader& item : items) TAPML_TRY(check(item, byte_level_seen));
    return {};
  }
  return fail(field.field_error("type", "is not a supported decoder (here)", kKnown));
}

}  // namespace

Status check_decoder(const JsonObjectReader& file) {
  bool byte_level_seen = false;
  TAPML_ASSIGN(const JsonObjectReader decoder, file.required_object("decoder"));
  TAPML_TRY(check(decoder, byte_level_seen));
  if (!byte_level_seen) {
    return fail(
        file.field_error("decoder", "has no ByteLevel: the tokenizer is not byte-level", kKnown));
  }
  return {};
}

}  // namespace tapml::tokenizer
