// Which decoders a tokenizer.json may ask for.
#pragma once

#include "base/result.h"
#include "io/json_reader.h"

namespace tapml::tokenizer {

// Ok when `decoder` of a tokenizer.json means: join the tokens, read the byte alphabet back,
// replace what is not UTF-8. That is ByteLevel, and Sequence of one ByteLevel followed by any
// number of Fuse. UserError for everything else.
Status check_decoder(const JsonObjectReader& file);

}  // namespace tapml::tokenizer
