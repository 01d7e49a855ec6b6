// The tokens of a model and their ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "io/json_reader.h"

namespace tapml::tokenizer {

// The largest id that is accepted: ids index tables, so a hostile file must not choose their size.
constexpr int64_t kMaxTokenId = (int64_t{1} << 22) - 1;

// Allows unordered maps to be searched by views.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using TokenIds = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

// `vocab` of the object `model` of a tokenizer.json. UserError for no tokens, and for ids that are
// negative, too large or repeated.
Result<TokenIds> read_vocabulary(const JsonObjectReader& model);

}  // namespace tapml::tokenizer
