#include "server/openai/generation.h"

#include <algorithm>

namespace tapml::server {

Generation::Generation(TextService& service, std::shared_ptr<Exchange> exchange,
                       HttpHeaders headers, ReplyHead head, const GenerationRequest& request,
                       bool with_tools)
    : service_(service),
      exchange_(std::move(exchange)),
      headers_(std::move(headers)),
      head_(std::move(head)),
      request_(request),
      with_tools_(with_tools) {}

ApiResult<void> Generation::start(const std::vector<PromptTokens>& prompts,
                                  const std::vector<int32_t>& end_tokens, int64_t context) {
  for (const PromptTokens& prompt : prompts) {
    usage_.prompt_tokens += std::ssize(prompt.tokens);
    for (int64_t i = 0; i < request_.choices; ++i) {
      Text text{llm::AnswerParts(prompt.begins_in_thought, with_tools_), {}, false};
      text.whole.index = std::ssize(texts_);
      text.whole.reports_tokens = request_.top_probabilities >= 0;
      texts_.push_back(std::move(text));
    }
  }
  for (size_t index = 0; index < texts_.size(); ++index) {
    const auto choice = static_cast<int64_t>(index) % request_.choices;
    const PromptTokens& prompt = prompts[index / static_cast<size_t>(request_.choices)];
    ServedRequest served;
    served.text.prompt = prompt.tokens;
    served.text.max_tokens = request_.max_tokens.value_or(context);
    served.text.eos = end_tokens;
    served.text.sampler = request_.sampler;
    served.text.sampler.seed += static_cast<uint64_t>(choice);
    served.text.rules = request_.rules;
    served.text.top_probabilities = request_.top_probabilities;
    served.stop = request_.stop;
    served.grammar = request_.grammar;
    served.on_piece = [self = shared_from_this(), index](TextPiece piece) {
      self->on_piece(index, std::move(piece));
    };
    served.on_end = [self = shared_from_this(), index](const Result<ServedEnd>& end) {
      self->on_end(index, end);
    };
    const auto id = service_.submit(std::move(served));
    if (!id) {
      cancel();
      return fail(refused_by_service(service_.is_healthy()));
    }
    const std::lock_guard lock(mutex_);
    ids_.push_back(*id);
  }
  exchange_->on_gone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->cancel();
  });
  return {};
}

void Generation::cancel() {
  const std::lock_guard lock(mutex_);
  for (const TextService::TextId id : ids_) service_.cancel(id);
}

void Generation::write(const Json& json) {
  if (!has_begun_) exchange_->begin(200, "text/event-stream; charset=utf-8", headers_);
  has_begun_ = true;
  exchange_->write(event_text(json));
}

void Generation::give(Text& text, llm::AnswerDelta delta, std::vector<TokenReport> tokens,
                      const char* finish) {
  if (!request_.stream) {
    ReplyChoice& whole = text.whole;
    whole.delta.content += delta.content;
    whole.delta.reasoning += delta.reasoning;
    std::ranges::move(tokens, std::back_inserter(whole.tokens));
    whole.finish = finish;
    if (finish) whole.calls = text.parts.calls();
    return;
  }
  if (delta.is_empty() && tokens.empty() && !finish && text.has_begun) return;
  ReplyChoice piece;
  piece.index = text.whole.index;
  piece.delta = std::move(delta);
  piece.reports_tokens = !tokens.empty();
  piece.tokens = std::move(tokens);
  piece.is_first = !std::exchange(text.has_begun, true);
  piece.finish = finish;
  if (finish) piece.calls = text.parts.calls();
  write(piece_json(head_, piece));
}

void Generation::on_piece(size_t index, TextPiece piece) {
  if (has_failed_) return;
  Text& text = texts_[index];
  if (head_.kind == ReplyKind::kCompletion) {
    return give(text, {.content = std::move(piece.text), .reasoning = {}}, std::move(piece.tokens),
                nullptr);
  }
  give(text, text.parts.push(piece.text), std::move(piece.tokens), nullptr);
}

void Generation::on_end(size_t index, const Result<ServedEnd>& end) {
  if (has_failed_) return;
  if (!end) return fail_with(end.error());
  Text& text = texts_[index];
  llm::AnswerDelta rest;
  if (head_.kind == ReplyKind::kChat) rest = text.parts.finish();
  usage_.tokens += end->counts.tokens;
  usage_.shared_tokens += end->counts.shared_tokens;
  give(text, std::move(rest), {}, finish_reason(end->reason, !text.parts.calls().empty()));
  if (++ended_ == texts_.size()) complete();
}

void Generation::complete() {
  if (request_.stream) {
    if (request_.stream_usage) write(usage_piece_json(head_, usage_));
    exchange_->write("data: [DONE]\n\n");
    return exchange_->end();
  }
  std::vector<ReplyChoice> choices;
  for (Text& text : texts_) choices.push_back(std::move(text.whole));
  exchange_->respond(200, "application/json", reply_json(head_, choices, usage_).dump(), headers_);
}

void Generation::fail_with(const Error& error) {
  has_failed_ = true;
  cancel();
  const ApiError problem = api_error(error);
  if (!has_begun_) {
    return exchange_->respond(problem.status, "application/json", problem.json().dump(), headers_);
  }
  exchange_->write(event_text(problem.json()));
  exchange_->end();
}

}  // namespace tapml::server
