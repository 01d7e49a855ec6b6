// Requests of OpenAI's interface: any body is read, or refused with an answer that is JSON.
#include "finding.h"
#include "server/openai/request.h"

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
  return 0;
}
