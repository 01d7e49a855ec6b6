#include "llm/chat_session.h"

#include <algorithm>

#include "base/clock.h"
#include "llm/speculation/speculation.h"
#include "llm/stop_texts.h"

namespace tapml::llm {

const char* answer_end_name(AnswerEnd end) {
  switch (end) {
    case AnswerEnd::kEndToken:
      return "eos";
    case AnswerEnd::kStopText:
      return "stop";
    case AnswerEnd::kMaxTokens:
      return "max_tokens";
    case AnswerEnd::kContextFull:
      return "context";
    case AnswerEnd::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

namespace {

AnswerEnd answer_end_of(StopReason reason, bool stopped) {
  switch (reason) {
    case StopReason::kEos:
      return AnswerEnd::kEndToken;
    case StopReason::kContextFull:
      return AnswerEnd::kContextFull;
    case StopReason::kCaller:
      return stopped ? AnswerEnd::kStopText : AnswerEnd::kCancelled;
    case StopReason::kMaxTokens:
    case StopReason::kNotFinite:  // an error
      break;
  }
  return stopped ? AnswerEnd::kStopText : AnswerEnd::kMaxTokens;
}

}  // namespace

Result<std::vector<int32_t>> ChatSession::encode(const Json& messages,
                                                 const ChatTemplateOptions& options) const {
  if (!template_) {
    return fail(user_error("the model has no chat template", "messages", "a model with one",
                           engine_.model().architecture, "continue a text instead"));
  }
  TAPML_ASSIGN(const std::string text, template_->render(messages, options));
  TAPML_ASSIGN(std::vector<int32_t> tokens, tokenizer_.encode(text, false));
  if (tokens.empty()) {
    return fail(user_error("the chat template makes nothing of the conversation", "messages",
                           "some text", "none"));
  }
  if (std::ssize(tokens) >= engine_.capacity()) {
    return fail(user_error("the conversation is too long for the model", "messages",
                           "fewer than " + std::to_string(engine_.capacity()) + " tokens",
                           std::to_string(tokens.size()) + " tokens",
                           "begin a new conversation, or shorten the last message"));
  }
  return tokens;
}

Result<Answer> ChatSession::answer(const Json& messages, const AnswerOptions& options) {
  TAPML_ASSIGN(const std::vector<int32_t> prompt, encode(messages, options.chat));
  return answer(prompt, options);
}

Result<Answer> ChatSession::answer(const std::vector<int32_t>& prompt,
                                   const AnswerOptions& options) {
  if (prompt.empty()) {
    return fail(user_error("there is no text to continue", "prompt", "some text", "none"));
  }
  Answer answer;
  answer.prompt_tokens = std::ssize(prompt);
  // At least one token is read, because its logits choose the first of the answer.
  const auto common = std::ranges::mismatch(read_, prompt).in1 - read_.begin();
  answer.kept_tokens = std::min<int64_t>(common, std::ssize(prompt) - 1);

  StreamDecoder decoder(tokenizer_);
  StopTexts stop(options.stop);
  std::optional<TokenMask> mask;
  if (options.grammar) {
    if (!token_texts_) token_texts_.emplace(tokenizer_);
    mask.emplace(options.grammar, *token_texts_, end_tokens_);
  }
  bool goes_on = true, is_complete = false;
  const auto give = [&](const std::string& text) {
    if (text.empty() || !goes_on) return;
    answer.text += text;
    if (options.on_text) goes_on = options.on_text(text);
  };
  GenerateOptions generate;
  generate.max_tokens = options.max_tokens;
  generate.eos = end_tokens_;
  generate.sampler = options.sampler;
  generate.speculation = options.speculation;
  if (mask) generate.constrain = [&](std::span<float> logits) { mask->apply(logits); };
  const double start = seconds_now();
  generate.on_token = [&](int32_t token) {
    if (answer.tokens.empty()) answer.prefill_seconds = seconds_now() - start;
    answer.tokens.push_back(token);
    if (options.on_token) options.on_token(token);
    give(stop.push(decoder.push(token)));
    is_complete = mask && !mask->accept(token);
    return goes_on && !is_complete && !stop.stopped();
  };
  if (options.max_tokens < 1) {
    return fail(user_error("the number of tokens of an answer is too small", "max_tokens",
                           "1 or more", std::to_string(options.max_tokens)));
  }
  TAPML_TRY(check_sampler_options(options.sampler));
  engine_.rewind(answer.kept_tokens);
  const std::span<const int32_t> rest =
      std::span(prompt).subspan(static_cast<size_t>(answer.kept_tokens));
  Result<Generation> run = engine_.extend(rest, generate);
  read_ = prompt;
  read_.insert(read_.end(), answer.tokens.begin(), answer.tokens.end());
  read_.resize(std::min(read_.size(), static_cast<size_t>(engine_.length())));
  if (!run && run.error().fault != PlatformFault::kCancelled) {
    engine_.reset();
    read_.clear();
    return fail(std::move(run).error());
  }
  if (goes_on) give(stop.push(decoder.finish()));
  if (goes_on) give(stop.finish());
  answer.end =
      run ? answer_end_of(run->reason, is_complete || stop.stopped()) : AnswerEnd::kCancelled;
  if (run) answer.decode_steps = run->decode_steps;
  if (options.speculation) answer.speculation = options.speculation->counts();
  if (!run && !answer.tokens.empty()) answer.decode_steps = std::ssize(answer.tokens) - 1;
  const double seconds = seconds_now() - start;
  if (answer.tokens.empty()) answer.prefill_seconds = seconds;
  answer.decode_seconds = seconds - answer.prefill_seconds;
  return answer;
}

}  // namespace tapml::llm
