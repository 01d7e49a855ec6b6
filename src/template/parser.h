// Parses a template.
#pragma once

#include <string_view>

#include "base/result.h"
#include "template/syntax.h"

namespace tapml::jinja {

// `text` is normalized (lexer.h) and valid UTF-8; `source` names it in errors. UserError, with line
// and column, for text that is not a template, and for statements that chat templates do not have:
// those that read other templates.
Result<Body> parse_body(std::string_view text, std::string_view source);

// The names that templates give nothing to, because they are constants.
bool is_constant_name(std::string_view name);

}  // namespace tapml::jinja
