#include "template/template.h"

#include "base/strings.h"
#include "template/lexer.h"
#include "template/parser.h"
#include "template/renderer.h"

namespace tapml::jinja {

namespace {

constexpr size_t kMostBytes = size_t{16} << 20;

}  // namespace

Result<Template> Template::parse(std::string_view text, std::string source) {
  if (text.size() > kMostBytes) {
    return fail(user_error("the template is too long", source,
                           "at most " + std::to_string(kMostBytes) + " bytes",
                           std::to_string(text.size())));
  }
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_sequence_length(text, at);
    if (length == 0) {
      return fail(user_error("the template is not UTF-8", source, "UTF-8",
                             "another byte at position " + std::to_string(at)));
    }
    at += length;
  }
  Template made;
  made.text_ = normalized_source(text);
  made.source_ = std::move(source);
  TAPML_ASSIGN(Body body, parse_body(made.text_, made.source_));
  made.body_ = std::make_shared<const Body>(std::move(body));
  return made;
}

Result<Rendered> Template::render(const Json& variables, const RenderOptions& options) const {
  return Renderer(text_, source_, options).run(*body_, variables);
}

}  // namespace tapml::jinja
