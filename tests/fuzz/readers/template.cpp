// Chat templates: any text is refused as the input's fault, or rendered within the limits, as valid
// UTF-8 and twice the same.
#include "template/template.h"

#include "base/strings.h"
#include "finding.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

const Json& variables() {
  static const Json kVariables = *parse_json(
      R"({"messages": [{"role": "system", "content": "Be brief"},
                       {"role": "user", "content": "Hi ä"},
                       {"role": "assistant", "content": "", "tool_calls": [
                         {"id": "1", "function": {"name": "f", "arguments": {"x": [1, 2.5, null]}}}]},
                       {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "?"}]}],
          "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties":
                     {"x": {"type": "array"}}, "required": ["x"]}}}],
          "documents": null, "add_generation_prompt": true, "bos_token": "<s>", "n": 3})",
      "variables");
  return kVariables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = jinja::Template::parse(as_text(data, size), "input");
  if (!parsed) {
    require_user_error(parsed.error());
    return 0;
  }
  const jinja::RenderOptions limits = {
      .steps = 200'000, .memory = size_t{16} << 20, .output = size_t{1} << 20, .now = 0};
  const auto rendered = parsed->render(variables(), limits);
  if (!rendered) {
    require_user_error(rendered.error());
    require(rendered.error().where.starts_with("input:"), "an error without a position");
    return 0;
  }
  require(rendered->text.size() <= limits.output, "more output than allowed");
  for (size_t at = 0; at < rendered->text.size();) {
    const size_t length = utf8_sequence_length(rendered->text, at);
    require(length > 0, "the output is not UTF-8");
    at += length;
  }
  const auto again = parsed->render(variables(), limits);
  require(again && again->text == rendered->text, "another output at the second time");
  return 0;
}
