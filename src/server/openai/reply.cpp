#include "server/openai/reply.h"

namespace tapml::server {

namespace {

Json bytes_json(const std::string& text) {
  Json bytes = Json::array();
  for (const char byte : text) bytes.push(Json::integer(static_cast<unsigned char>(byte)));
  return bytes;
}

Json token_json(const std::string& text, double log_probability) {
  return Json::object({{"token", Json::string(text)},
                       {"logprob", Json::number(log_probability)},
                       {"bytes", bytes_json(text)}});
}

// As chat completions have them.
Json chat_probabilities(const std::vector<TokenReport>& tokens) {
  Json content = Json::array();
  for (const TokenReport& token : tokens) {
    Json one = token_json(token.text, token.log_probability);
    Json top = Json::array();
    for (const auto& [text, log_probability] : token.top) {
      top.push(token_json(text, log_probability));
    }
    one.set("top_logprobs", std::move(top));
    content.push(std::move(one));
  }
  return Json::object({{"content", std::move(content)}});
}

// As completions have them.
Json completion_probabilities(const std::vector<TokenReport>& tokens) {
  Json texts = Json::array(), numbers = Json::array(), tops = Json::array();
  for (const TokenReport& token : tokens) {
    texts.push(Json::string(token.text));
    numbers.push(Json::number(token.log_probability));
    Json top = Json::object();
    for (const auto& [text, log_probability] : token.top) {
      top.set(text, Json::number(log_probability));
    }
    tops.push(std::move(top));
  }
  return Json::object({{"tokens", std::move(texts)},
                       {"token_logprobs", std::move(numbers)},
                       {"top_logprobs", std::move(tops)}});
}

Json calls_json(const std::vector<llm::ToolCall>& calls, const ReplyHead& head, int64_t choice,
                bool with_index) {
  Json list = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    Json call = Json::object();
    if (with_index) call.set("index", Json::integer(static_cast<int64_t>(i)));
    call.set("id", Json::string("call_" + head.id.substr(head.id.find('-') + 1) + "_" +
                                std::to_string(choice) + "_" + std::to_string(i)));
    call.set("type", Json::string("function"));
    call.set("function", Json::object({{"name", Json::string(calls[i].name)},
                                       {"arguments", Json::string(calls[i].arguments)}}));
    list.push(std::move(call));
  }
  return list;
}

Json head_json(const ReplyHead& head, bool is_piece) {
  const char* object = head.kind == ReplyKind::kCompletion ? "text_completion"
                       : is_piece                          ? "chat.completion.chunk"
                                                           : "chat.completion";
  return Json::object({{"id", Json::string(head.id)},
                       {"object", Json::string(object)},
                       {"created", Json::integer(head.created)},
                       {"model", Json::string(head.model)}});
}

Json finish_json(const ReplyChoice& choice) {
  return choice.finish ? Json::string(choice.finish) : Json::null();
}

Json completion_choice(const ReplyChoice& choice) {
  Json json = Json::object(
      {{"index", Json::integer(choice.index)}, {"text", Json::string(choice.delta.content)}});
  json.set("logprobs",
           choice.reports_tokens ? completion_probabilities(choice.tokens) : Json::null());
  json.set("finish_reason", finish_json(choice));
  return json;
}

Json chat_choice(const ReplyHead& head, const ReplyChoice& choice, bool is_piece) {
  Json message = Json::object();
  if (!is_piece || choice.is_first) message.set("role", Json::string("assistant"));
  const bool says_nothing = choice.delta.content.empty();
  if (!is_piece) {
    message.set("content", says_nothing && !choice.calls.empty()
                               ? Json::null()
                               : Json::string(choice.delta.content));
  } else if (!says_nothing || choice.is_first) {
    message.set("content", Json::string(choice.delta.content));
  }
  if (!choice.delta.reasoning.empty()) {
    message.set("reasoning_content", Json::string(choice.delta.reasoning));
  }
  if (!choice.calls.empty()) {
    message.set("tool_calls", calls_json(choice.calls, head, choice.index, is_piece));
  }
  Json json = Json::object({{"index", Json::integer(choice.index)},
                            {is_piece ? "delta" : "message", std::move(message)}});
  json.set("logprobs", choice.reports_tokens ? chat_probabilities(choice.tokens) : Json::null());
  json.set("finish_reason", finish_json(choice));
  return json;
}

Json choice_json(const ReplyHead& head, const ReplyChoice& choice, bool is_piece) {
  return head.kind == ReplyKind::kChat ? chat_choice(head, choice, is_piece)
                                       : completion_choice(choice);
}

}  // namespace

const char* finish_reason(ServedEnd::Reason reason, bool has_calls) {
  if (has_calls) return "tool_calls";
  switch (reason) {
    case ServedEnd::Reason::kEndToken:
    case ServedEnd::Reason::kStopText:
      return "stop";
    case ServedEnd::Reason::kMaxTokens:
    case ServedEnd::Reason::kContextFull:
    case ServedEnd::Reason::kTime:
      break;
  }
  return "length";
}

Json usage_json(const Usage& usage) {
  return Json::object({{"prompt_tokens", Json::integer(usage.prompt_tokens)},
                       {"completion_tokens", Json::integer(usage.tokens)},
                       {"total_tokens", Json::integer(usage.prompt_tokens + usage.tokens)},
                       {"prompt_tokens_details",
                        Json::object({{"cached_tokens", Json::integer(usage.shared_tokens)}})}});
}

Json reply_json(const ReplyHead& head, const std::vector<ReplyChoice>& choices,
                const Usage& usage) {
  Json json = head_json(head, false);
  Json list = Json::array();
  for (const ReplyChoice& choice : choices) list.push(choice_json(head, choice, false));
  json.set("choices", std::move(list));
  json.set("usage", usage_json(usage));
  return json;
}

Json piece_json(const ReplyHead& head, const ReplyChoice& choice) {
  Json json = head_json(head, true);
  json.set("choices", Json::array({choice_json(head, choice, true)}));
  return json;
}

Json usage_piece_json(const ReplyHead& head, const Usage& usage) {
  Json json = head_json(head, true);
  json.set("choices", Json::array());
  json.set("usage", usage_json(usage));
  return json;
}

std::string event_text(const Json& json) { return "data: " + json.dump() + "\n\n"; }

}  // namespace tapml::server
