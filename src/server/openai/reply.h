// The answers of OpenAI's interface, as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/json.h"
#include "llm/tools/answer_parts.h"
#include "server/text_service.h"

namespace tapml::server {

enum class ReplyKind : uint8_t { kChat, kCompletion };

// What all pieces of an answer say.
struct ReplyHead {
  ReplyKind kind = ReplyKind::kChat;
  std::string id, model;
  int64_t created = 0;  // seconds since 1970
};

// "stop", "length" or "tool_calls"
const char* finish_reason(ServedEnd::Reason reason, bool has_calls);

// One of the texts of an answer, whole or since the last piece.
struct ReplyChoice {
  int64_t index = 0;
  llm::AnswerDelta delta;
  std::vector<llm::ToolCall> calls;
  std::vector<TokenReport> tokens;
  bool reports_tokens = false;
  bool is_first = false;         // of a stream
  const char* finish = nullptr;  // null: it goes on
};

struct Usage {
  int64_t prompt_tokens = 0, shared_tokens = 0, tokens = 0;
};

Json usage_json(const Usage& usage);
// The whole answer.
Json reply_json(const ReplyHead& head, const std::vector<ReplyChoice>& choices, const Usage& usage);
// A piece of a stream.
Json piece_json(const ReplyHead& head, const ReplyChoice& choice);
// The last piece of a stream whose client asked for the usage.
Json usage_piece_json(const ReplyHead& head, const Usage& usage);
// A piece as an event of a stream.
std::string event_text(const Json& json);

}  // namespace tapml::server
