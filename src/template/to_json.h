// JSON as Python's json module writes it.
#pragma once

#include <cstddef>
#include <string>

#include "template/value.h"

namespace tapml::jinja {

struct JsonStyle {
  bool ascii = false, sorted = false;
  bool indented = false;
  std::string indent;  // of one level
  std::string item_separator = ", ", key_separator = ": ";
};

enum class JsonResult : uint8_t { kDone, kTooLong, kNoJson };

// Appends the text of `value`; `wrong` receives the value that JSON cannot have. Stops beyond
// `most` bytes.
JsonResult append_json(std::string& out, const Value& value, const JsonStyle& style, size_t most,
                       Value& wrong);

}  // namespace tapml::jinja
