// Requests of OpenAI's interface: any body is read, or refused with an answer that is JSON.
#include "finding.h"
#include "server/openai/embeddings.h"
#include "server/openai/request.h"
#include "server/openai/tool_grammar.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

void check(const server::ApiError& error) {
  require(error.status == 400, "a request is at fault, and another status");
  require(!error.message.empty(), "an error without a message");
  require(parse_json(error.json().dump(), "error").has_value(), "an error that is not JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string body(as_text(data, size));
  if (const auto request = server::read_chat_request(body); !request) {
    check(request.error());
  } else {
    require(!request->messages.items().empty(), "a chat without messages");
    for (const server::CallForm form :
         {server::CallForm::kTagged, server::CallForm::kList, server::CallForm::kObject}) {
      if (!request->requires_call) break;
      const auto grammar = server::tool_grammar(*request, form, false);
      if (!grammar) check(grammar.error());
    }
    for (const Json& message : request->messages.items()) {
      const Json* role = message.find("role");
      const Json* content = message.find("content");
      require(role && role->is_string() && content && content->is_string(),
              "a message without role and content");
    }
  }
  if (const auto request = server::read_completion_request(body); !request) {
    check(request.error());
  } else {
    require(!request->prompts.empty(), "a completion without prompts");
  }
  if (const auto request = server::read_embeddings_request(body); !request) {
    check(request.error());
  } else {
    require(!request->inputs.empty(), "embeddings without inputs");
  }
  return 0;
}
