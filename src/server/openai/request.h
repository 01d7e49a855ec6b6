// Reads the requests of OpenAI's interface: chat completions and completions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "llm/batching/logit_rules.h"
#include "llm/chat_template.h"
#include "llm/grammar/grammar.h"
#include "llm/sampler.h"
#include "server/openai/api_error.h"
#include "server/openai/request_reading.h"

namespace tapml::server {

// What both kinds have.
struct GenerationRequest {
  std::string model;                  // empty: not given
  std::optional<int64_t> max_tokens;  // none: until the context is full
  llm::SamplerOptions sampler;        // temperature 1, as OpenAI's; without a seed a random one
  llm::LogitRules rules;
  std::vector<std::string> stop;
  // Of an answer: from "response_format", or "grammar" (in the notation of llm/grammar/grammar.h).
  std::shared_ptr<const llm::Grammar> grammar;
  int64_t choices = 1;
  int64_t top_probabilities = -1;  // -1: none are reported
  bool stream = false;
  bool stream_usage = false;  // a last piece with the numbers of tokens
};

struct ChatRequest {
  GenerationRequest generation;
  Json messages = Json::array();  // as a chat template takes them
  llm::ChatTemplateOptions render;
  bool has_tools = false;      // that the model may call
  bool requires_call = false;  // the answer is a call of a tool
  std::string required_tool;   // of this one; empty: of any
  bool parallel_calls = true;  // there may be several calls
};

struct CompletionRequest {
  GenerationRequest generation;
  std::vector<Prompt> prompts;
};

// Unknown members are ignored, because clients send many; known ones of another type or out of
// range, and what is not served (images, response formats, ...) are errors that name the member.
ApiResult<ChatRequest> read_chat_request(const std::string& body);
ApiResult<CompletionRequest> read_completion_request(const std::string& body);

}  // namespace tapml::server
