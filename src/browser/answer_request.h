// What a page asks of an answer (PageModel::answer()).
#pragma once

#include <cstdint>

#include "io/json_reader.h"
#include "llm/chat_session.h"
#include "llm/tools/tool_grammar.h"

namespace tapml::browser {

// Limits, sampling, stop texts and the format. UserError for members of another type or out of
// range.
Result<llm::AnswerOptions> options_of(const JsonObjectReader& request);

// Which tools an answer may call, and whether it must.
struct ToolsAsked {
  enum class Kind : uint8_t { kNone, kAuto, kRequired } kind = Kind::kNone;
  llm::ToolChoice choice;
};

// UserError for tools of another form, and a choice of a tool that is not there.
Result<ToolsAsked> tools_of(const JsonObjectReader& request);

}  // namespace tapml::browser
