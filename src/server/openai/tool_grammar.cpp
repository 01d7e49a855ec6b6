#include "server/openai/tool_grammar.h"

namespace tapml::server {

ApiResult<std::shared_ptr<const llm::Grammar>> tool_grammar(const ChatRequest& request,
                                                            CallForm form, bool begins_in_thought) {
  auto grammar = llm::tool_grammar({.tools = request.render.tools,
                                    .required = request.required_tool,
                                    .several = request.parallel_calls},
                                   form, begins_in_thought);
  if (grammar) return *std::move(grammar);
  ApiError error = api_error(grammar.error());
  error.param = "tools";
  return fail(std::move(error));
}

}  // namespace tapml::server
