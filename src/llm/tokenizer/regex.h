// Regular expressions for tokenizers, independent of the engine: platforms without the native
// library use another engine.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml::tokenizer {

// Bytes [begin, end) of a text.
struct Span {
  size_t begin = 0;
  size_t end = 0;
};

// A compiled pattern; thread-safe.
class Regex {
 public:
  virtual ~Regex() = default;

  // Appends the matches in `text` (valid UTF-8), leftmost first and without overlap. An empty match
  // directly after another match does not count. PlatformError (limit) if the engine gives up.
  virtual Status find_all(std::string_view text, std::vector<Span>& matches) const = 0;
};

class RegexEngine {
 public:
  virtual ~RegexEngine() = default;

  // Compiles a pattern in the dialect of tokenizer files: Oniguruma's with Ruby syntax, in Unicode
  // mode. UserError with the position for a malformed or unsupported pattern.
  virtual Result<std::unique_ptr<Regex>> compile(std::string_view pattern) const = 0;
};

}  // namespace tapml::tokenizer
