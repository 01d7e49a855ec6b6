// The vocabulary of RWKV's World models: a line for each token, with its id, its text as a literal
// of Python, and its number of bytes (the package rwkv, rwkv_vocab_v20230424.txt).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml::tokenizer {

struct RwkvToken {
  int32_t id = -1;
  std::string bytes;  // not necessarily UTF-8
};

// Reads the text of such a file; `source` names it in errors. UserError, with the line, for a line
// of another form, a number of bytes that is not the literal's, an id that is out of range, and an
// id or bytes that occur twice.
Result<std::vector<RwkvToken>> read_rwkv_vocabulary(std::string_view text, std::string_view source);

}  // namespace tapml::tokenizer
