// Arrays of objects in tokenizer.json.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/json_reader.h"

namespace tapml::tokenizer {

// One reader for each item of the required array `key` of `holder`. An item that is not an object
// fails on its first use.
Result<std::vector<JsonObjectReader>> object_items(const JsonObjectReader& holder,
                                                   std::string_view key);

}  // namespace tapml::tokenizer
