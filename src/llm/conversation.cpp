#include "llm/conversation.h"

#include <algorithm>

#include "base/clock.h"
#include "llm/continuation.h"
#include "llm/speculation/draft_model.h"
#include "llm/speculation/lookup.h"
#include "llm/speculation/same_vocabulary.h"

namespace tapml::llm {

namespace {

TurnEnd end_of(StopReason reason, bool cancelled) {
  switch (reason) {
    case StopReason::kEos:
      return TurnEnd::kEndToken;
    case StopReason::kContextFull:
      return TurnEnd::kContextFull;
    case StopReason::kCaller:
      return cancelled ? TurnEnd::kCancelled : TurnEnd::kCaller;
    case StopReason::kMaxTokens:
    case StopReason::kNotFinite:  // an error in a conversation
      break;
  }
  return TurnEnd::kMaxTokens;
}

}  // namespace

Result<std::unique_ptr<Conversation>> Conversation::create(runtime::Session& session,
                                                           Package package, int64_t capacity) {
  auto executable = std::make_shared<const Executable>(std::move(package.file.executable));
  TAPML_ASSIGN(auto engine, Engine::create(session, std::move(executable), package.weights,
                                           {.capacity = capacity, .weights_in_place = true}));
  std::unique_ptr<Conversation> made(new Conversation(
      std::move(engine), std::move(package.tokenizer), std::move(package.end_tokens)));
  made->engine_->vm().set_interrupt(&made->cancelled_);
  return made;
}

Status Conversation::set_draft(Package package) {
  TAPML_TRY(check_verifies(engine_->model()));
  TAPML_TRY(check_same_vocabulary(tokenizer_, package.tokenizer));
  auto executable = std::make_shared<const Executable>(std::move(package.file.executable));
  const int64_t context = std::min(capacity(), executable->model.context);
  TAPML_ASSIGN(draft_,
               Engine::create(engine_->vm().session(), std::move(executable), package.weights,
                              {.capacity = context, .weights_in_place = true}));
  TAPML_TRY(check_draft(*draft_));
  draft_->vm().set_interrupt(&cancelled_);
  return {};
}

Result<Speculation*> Conversation::speculation_for(const TurnOptions& options) {
  if (options.propose.tokens == 0) return nullptr;
  TAPML_TRY(check_speculation_options(options.propose));
  if (options.lookup == 0 && !draft_) return nullptr;
  if (speculation_ && lookup_ == options.lookup && propose_ == options.propose) {
    return speculation_.get();
  }
  TAPML_TRY(check_verifies(engine_->model()));
  TAPML_ASSIGN(auto proposer, options.lookup == 0 ? DraftModel::create(*draft_, engine_->model())
                                                  : Lookup::create(options.lookup));
  TAPML_ASSIGN(speculation_, Speculation::create(std::move(proposer), options.propose));
  lookup_ = options.lookup;
  propose_ = options.propose;
  return speculation_.get();
}

void Conversation::reset() {
  // Forgets the sequence, too.
  [[maybe_unused]] const Status always = engine_->set_embeddings({});
  unread_.reset();
}

Status Conversation::set_features(HostTensor features) {
  TAPML_TRY(engine_->set_features(std::move(features)));
  reset();
  return {};
}

Status Conversation::place_embeddings(const HostTensor& rows, int64_t first) {
  // The model chose the last token, which has no embedding of the caller.
  if (unread_ && first == engine_->length()) {
    return fail(user_error("the position is that of the last answer's last token", "embeddings",
                           "a position from " + std::to_string(length()) + " on",
                           "position " + std::to_string(first)));
  }
  return engine_->place_embeddings(rows, first);
}

Result<std::vector<int32_t>> Conversation::encode(std::string_view prompt) const {
  const bool first = length() == 0;
  TAPML_ASSIGN(std::vector<int32_t> tokens,
               first ? tokenizer_.encode_prompt(prompt) : tokenizer_.encode(prompt, false));
  if (unread_) tokens.insert(tokens.begin(), *unread_);
  if (tokens.empty() || (first && prompt.empty())) {
    return fail(user_error("the prompt is empty", "prompt", "some text",
                           first ? "nothing" : "nothing, and no answer to continue"));
  }
  // A prompt that fills the cache would leave no room for an answer.
  const int64_t room = capacity() - engine_->length();
  if (std::ssize(tokens) >= room) {
    return fail(user_error(
        first ? "the prompt is too long for the model" : "the prompt is too long for what is left",
        "prompt", "fewer than " + std::to_string(room) + " tokens",
        std::to_string(tokens.size()) + " tokens",
        first ? "shorten it" : "shorten it, or begin a new conversation"));
  }
  return tokens;
}

Result<Turn> Conversation::say(std::string_view prompt, const TurnOptions& options) {
  cancelled_.store(false, std::memory_order_relaxed);
  StreamDecoder decoder(tokenizer_);
  bool stopped = false;
  auto give = [&](const std::string& text) {
    if (text.empty() || stopped || !options.on_text) return;
    stopped = !options.on_text(text);
  };
  Turn turn;
  GenerateOptions generate;
  generate.max_tokens = options.max_tokens;
  generate.eos = end_tokens_;
  generate.sampler = options.sampler;
  const double start = seconds_now();
  generate.on_token = [&](int32_t token) {
    if (turn.tokens.empty()) turn.prefill_seconds = seconds_now() - start;
    turn.tokens.push_back(token);
    give(decoder.push(token));
    return !stopped && !cancelled_.load(std::memory_order_relaxed);
  };
  TAPML_TRY(check_options(generate));
  TAPML_TRY(check_sampler_options(options.sampler));
  TAPML_ASSIGN(generate.speculation, speculation_for(options));
  TAPML_ASSIGN(const std::vector<int32_t> tokens, encode(prompt));
  if (options.max_tokens > 0) TAPML_TRY(engine_->check_prompt(std::ssize(tokens)));
  turn.prompt_tokens = std::ssize(tokens);

  const int64_t before = engine_->length();
  Result<Generation> run = engine_->extend(tokens, generate);
  if (!run && run.error().fault != PlatformFault::kCancelled) {
    reset();
    return fail(run.error());
  }
  if (!run && turn.tokens.empty()) {
    engine_->rewind(before);
    turn.end = TurnEnd::kCancelled;
    turn.prompt_tokens = 0;
    return turn;
  }
  if (generate.speculation) turn.speculation = generate.speculation->counts();
  unread_.reset();
  if (engine_->length() < before + turn.prompt_tokens + std::ssize(turn.tokens)) {
    unread_ = turn.tokens.back();
  }
  give(decoder.finish());
  turn.end = run ? end_of(run->reason, !stopped) : TurnEnd::kCancelled;
  if (turn.tokens.empty()) {
    turn.prefill_seconds = run->prefill_seconds;
  } else {
    turn.decode_seconds = seconds_now() - start - turn.prefill_seconds;
  }
  return turn;
}

}  // namespace tapml::llm
