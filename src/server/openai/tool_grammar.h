// The grammar of an answer that must call tools (llm/tools/tool_grammar.h), for a request.
#pragma once

#include <memory>

#include "llm/tools/tool_grammar.h"
#include "server/openai/request.h"

namespace tapml::server {

using llm::CallForm;

// Errors: a strict tool's schema that is refused.
ApiResult<std::shared_ptr<const llm::Grammar>> tool_grammar(const ChatRequest& request,
                                                            CallForm form, bool begins_in_thought);

}  // namespace tapml::server
