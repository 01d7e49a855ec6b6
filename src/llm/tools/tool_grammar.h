// The grammar of an answer that must call tools.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/json.h"
#include "llm/grammar/grammar.h"

namespace tapml::llm {

// The forms of calls that AnswerParts reads.
enum class CallForm : uint8_t {
  kTagged,  // <tool_call>{"name": ..., "arguments": ...}</tool_call>
  kList,    // [{"name": ..., "arguments": ...}]
  kObject,  // {"name": ..., "parameters": ...}
};

// The form that a prompt asks for. `prompt`: what a chat template made of a conversation with tools
// in which nothing is called yet.
CallForm call_form_of(std::string_view prompt);

struct ToolChoice {
  Json tools;            // as OpenAI's interface has them: a list
  std::string required;  // the tool to call; empty: any
  bool several = true;   // there may be several calls
};

// The grammar of calls of the tools, or of the required one: one call, or up to eight if there may
// be several. Arguments follow the tool's schema; if the schema has keywords that schema_grammar()
// refuses they are any object, unless the tool is `strict`. A thought may come first.
//
// UserError for a strict tool's schema that is refused, and for a tool without a name.
Result<std::shared_ptr<const Grammar>> tool_grammar(const ToolChoice& choice, CallForm form,
                                                    bool begins_in_thought);

}  // namespace tapml::llm
