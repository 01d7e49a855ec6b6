// Adds the special tokens around an encoded text.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/json_reader.h"

namespace tapml::tokenizer {

// Immutable after it is read.
class PostProcessor {
 public:
  // Reads `post_processor` of a tokenizer.json: null, TemplateProcessing, RobertaProcessing and
  // BertProcessing, ByteLevel (which changes no ids) and Sequence of these. UserError for other
  // types, a second template, malformed templates, special tokens that the template does not
  // define, and a template of one text that does not contain it exactly once.
  static Result<PostProcessor> read(const JsonObjectReader& file);

  // Whether it specifies the ids around a text, even if there are none.
  bool has_template() const { return has_template_; }
  // Sets the template if the file has none.
  void set_template(std::vector<int32_t> before, std::vector<int32_t> after) {
    has_template_ = true;
    before_ = std::move(before);
    after_ = std::move(after);
  }

  const std::vector<int32_t>& before() const { return before_; }
  const std::vector<int32_t>& after() const { return after_; }

 private:
  Status add(const JsonObjectReader& field);
  Status add_template(const JsonObjectReader& field);
  Status add_pair(const JsonObjectReader& field);

  bool has_template_ = false;
  std::vector<int32_t> before_, after_;
};

}  // namespace tapml::tokenizer
