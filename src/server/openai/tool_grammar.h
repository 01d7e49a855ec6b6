// The grammar of an answer that must call tools.
#pragma once

#include <memory>
#include <string_view>

#include "llm/grammar/grammar.h"
#include "server/openai/request.h"

namespace tapml::server {

// The forms of calls that AnswerParts reads.
enum class CallForm : uint8_t {
  kTagged,  // <tool_call>{"name": ..., "arguments": ...}</tool_call>
  kList,    // [{"name": ..., "arguments": ...}]
  kObject,  // {"name": ..., "parameters": ...}
};

// The form that a prompt asks for. `prompt`: what a chat template made of a conversation with tools
// in which nothing is called yet.
CallForm call_form_of(std::string_view prompt);

// The grammar of calls of the request's tools, or of the one that it names: one call, or up to
// eight if the request allows several. Arguments follow the tool's schema; if the schema has
// keywords that llm::schema_grammar() refuses they are any object, unless the tool is `strict`.
// A thought may come first.
//
// Errors: a strict tool's schema that is refused.
ApiResult<std::shared_ptr<const llm::Grammar>> tool_grammar(const ChatRequest& request,
                                                            CallForm form, bool begins_in_thought);

}  // namespace tapml::server
