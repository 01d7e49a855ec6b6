// The header `Range` of HTTP.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapml::server {

struct ByteRange {
  enum class Kind : uint8_t {
    kWhole,          // no range, or one that is not served: the whole file answers it
    kPart,           // [begin, end)
    kUnsatisfiable,  // it lies beyond the file
  } kind = Kind::kWhole;
  int64_t begin = 0, end = 0;
};

// What `header` asks of a file of `size` bytes: "bytes=0-99", "bytes=100-" or "bytes=-100". Other
// units, several ranges and malformed ones are ignored, as HTTP allows.
ByteRange parse_range(std::string_view header, int64_t size);

}  // namespace tapml::server
