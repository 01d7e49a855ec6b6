// Templates in the subset of Jinja that chat templates use, in a sandbox: a template sees nothing
// but its variables, and its steps, memory and output are bounded.
//
// Texts, lists and dicts have Python's methods that change nothing, and values are printed as
// Python prints them. The environment is that of transformers: trim_blocks, lstrip_blocks, no
// escaping, `break` and `continue`, `tojson` without escapes of HTML, `raise_exception`,
// `strftime_now` and `{% generation %}`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/json.h"
#include "template/syntax.h"

namespace tapml::jinja {

struct RenderOptions {
  int64_t steps = 5'000'000;          // evaluations and items of loops
  size_t memory = size_t{256} << 20;  // bytes of all texts and lists that it makes
  size_t output = size_t{64} << 20;   // bytes of the result
  int64_t range = 100'000;            // items of range()
  std::optional<int64_t> now = {};    // seconds since 1970 for strftime_now; else the clock's
};

struct Rendered {
  std::string text;
  // The bytes of `text` in {% generation %} blocks: begin and end of each.
  std::vector<std::pair<size_t, size_t>> generated;
};

// Immutable, therefore thread-safe.
class Template {
 public:
  // `source` names the template in errors ("chat_template.jinja"). UserError, with line and column,
  // for text that is not UTF-8, longer than 16 MiB, or not a template.
  static Result<Template> parse(std::string_view text, std::string source);

  // The text for `variables`, an object. UserError, with line and column, where Python would raise
  // an exception, if the template calls raise_exception, and for exceeded limits.
  Result<Rendered> render(const Json& variables, const RenderOptions& options = {}) const;

  const std::string& source() const { return source_; }
  const std::string& text() const { return text_; }  // with normalized line breaks

 private:
  Template() = default;
  std::string text_, source_;
  std::shared_ptr<const Body> body_;
};

}  // namespace tapml::jinja
