// Answers to conversations by an engine, which keeps what consecutive conversations have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"
#include "llm/chat_template.h"
#include "llm/engine.h"
#include "llm/grammar/token_mask.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::llm {

struct AnswerOptions {
  int64_t max_tokens = 1024;  // at least 1
  SamplerOptions sampler;
  std::vector<std::string> stop;  // texts that end an answer; they are not in it
  // Of an answer, which ends where it allows no more (kStopText); null: any text.
  std::shared_ptr<const Grammar> grammar;
  ChatTemplateOptions chat;
  // Receives the answer in pieces of whole characters, never an empty one; false ends it.
  std::function<bool(std::string_view text)> on_text;
  // Receives each token of the answer, before its text; may be empty.
  std::function<void(int32_t token)> on_token;
  Speculation* speculation = nullptr;  // as in GenerateOptions
};

enum class AnswerEnd : uint8_t { kEndToken, kStopText, kMaxTokens, kContextFull, kCancelled };
// "eos", "stop", "max_tokens", "context", "cancelled"
const char* answer_end_name(AnswerEnd end);

struct Answer {
  std::string text;
  std::vector<int32_t> tokens;  // without the end token
  AnswerEnd end = AnswerEnd::kMaxTokens;
  int64_t prompt_tokens = 0;  // of the whole conversation
  int64_t kept_tokens = 0;    // of these, the ones that the cache had already
  double prefill_seconds = 0;
  double decode_seconds = 0;
  int64_t decode_steps = 0;
  SpeculationCounts speculation;
};

// Not thread-safe. The engine, the tokenizer and the template outlive the session; the engine is
// used by nothing else.
class ChatSession {
 public:
  ChatSession(Engine& engine, const Tokenizer& tokenizer, const ChatTemplate& chat_template,
              std::vector<int32_t> end_tokens)
      : ChatSession(engine, tokenizer, &chat_template, std::move(end_tokens)) {}
  // Null: a model without a template, which only answers tokens.
  ChatSession(Engine& engine, const Tokenizer& tokenizer, const ChatTemplate* chat_template,
              std::vector<int32_t> end_tokens)
      : engine_(engine),
        tokenizer_(tokenizer),
        template_(chat_template),
        end_tokens_(std::move(end_tokens)) {}

  // The tokens of a conversation and of what comes before an answer. UserError as
  // ChatTemplate::render(), for a model without a template, and for a conversation that leaves no
  // room for an answer.
  Result<std::vector<int32_t>> encode(const Json& messages,
                                      const ChatTemplateOptions& options) const;

  // Answers `messages`. The tokens that they have in common with the last call's, answer included,
  // are not read again. An interrupt of the engine's VM or of `on_text` ends the answer
  // (kCancelled) and is no error. UserError as encode(), and for options out of range.
  Result<Answer> answer(const Json& messages, const AnswerOptions& options);
  // The same for the tokens of any text, at least one.
  Result<Answer> answer(const std::vector<int32_t>& prompt, const AnswerOptions& options);

 private:
  Engine& engine_;
  const Tokenizer& tokenizer_;
  const ChatTemplate* template_;
  std::vector<int32_t> end_tokens_;
  std::vector<int32_t> read_;              // the tokens in the engine's cache
  std::optional<TokenTexts> token_texts_;  // made for the first answer with a grammar
};

}  // namespace tapml::llm
