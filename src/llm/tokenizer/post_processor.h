// Adds the special tokens around an encoded text.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "io/json_reader.h"

namespace tapml::tokenizer {

// Immutable once read.
class PostProcessor {
 public:
  // Reads `post_processor` of a tokenizer.json: null, TemplateProcessing, ByteLevel (which changes
  // no ids) and Sequence of these. UserError for other types, a second template, malformed
  // templates, special tokens that the template does not define, and a template of one text that
  // does not hold it exactly once.
  static Result<PostProcessor> read(const JsonObjectReader& file);

  const std::vector<int32_t>& before() const { return before_; }
  const std::vector<int32_t>& after() const { return after_; }

 private:
  Status add(const JsonObjectReader& field);
  Status add_template(const JsonObjectReader& field);

  bool has_template_ = false;
  std::vector<int32_t> before_, after_;
};

}  // namespace tapml::tokenizer
