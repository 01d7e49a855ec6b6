// Generates one text: runs its prompt, then token after token.
#include "llm/continuation.h"
#include "llm/engine_state.h"
#include "llm/speculation/speculation.h"
#include "llm/speculation/verification.h"

namespace tapml::llm {

using runtime::Tensor;

const char* stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kEos:
      return "eos";
    case StopReason::kMaxTokens:
      return "max_tokens";
    case StopReason::kContextFull:
      return "context";
    case StopReason::kCaller:
      return "caller";
    case StopReason::kNotFinite:
      return "not_finite";
  }
  return "unknown";
}

Status check_options(const GenerateOptions& options) {
  if (options.max_tokens >= 0) return {};
  return fail(user_error("the number of tokens to generate is negative", "max_tokens", "at least 0",
                         std::to_string(options.max_tokens)));
}

// One call of extend() or generate().
class Engine::Generator {
 public:
  Generator(Engine& engine, const GenerateOptions& options)
      : engine_(engine), options_(options), rows_(engine.model().vocabulary), text_(options) {}

  Result<Generation> run(std::span<const int32_t> prompt) {
    Generation& result = text_.result;
    double start = seconds_now();
    if (options_.speculation) TAPML_TRY(begin_speculation(prompt));
    TAPML_ASSIGN(Tensor logits, run_prompt(prompt));
    bool more = options_.max_tokens > 0;
    int32_t token = 0;
    if (more) {
      TAPML_ASSIGN(more, choose(logits, token));
    } else {
      TAPML_TRY(engine_.vm().session().synchronize(runtime::kDefaultStream));
    }
    result.prefill_seconds = seconds_now() - start;
    start = seconds_now();
    while (more) {
      TAPML_ASSIGN(more, options_.speculation ? speculative_step(token) : plain_step(token));
      tell(engine_.watcher(), {"decode", result.decode_steps, options_.max_tokens, "tokens"});
    }
    result.decode_seconds = seconds_now() - start;
    tell(engine_.watcher(), {"decode", options_.max_tokens, options_.max_tokens, "tokens"});
    if (options_.keep_logits) {
      result.logits = rows_.first(static_cast<int64_t>(prompt.size() + result.tokens.size()) - 1);
    }
    if (options_.speculation) result.speculation = options_.speculation->counts();
    return std::move(result);
  }

 private:
  // Runs one token and chooses the next one; returns whether the text goes on.
  Result<bool> plain_step(int32_t& token) {
    TAPML_ASSIGN(const Tensor logits, engine_.decode(token));
    if (options_.keep_logits) {
      TAPML_ASSIGN(HostTensor row, engine_.state_->bytes_of(logits));
      rows_.append(row);
    }
    TAPML_ASSIGN(const bool more, choose(logits, token));
    ++text_.result.decode_steps;
    return more;
  }

  Status begin_speculation(std::span<const int32_t> prompt) {
    TAPML_TRY(check_verifies(engine_.model()));
    const Sequence& own = engine_.state_->own;
    tokens_ = own.tokens;
    tokens_.insert(tokens_.end(), own.unread.begin(), own.unread.end());
    tokens_.insert(tokens_.end(), prompt.begin(), prompt.end());
    return options_.speculation->begin(tokens_, options_.sampler);
  }

  // The same for what is proposed after the token, if that is anything.
  Result<bool> speculative_step(int32_t& token) {
    Speculation& speculation = *options_.speculation;
    tokens_.push_back(token);
    const int64_t left = options_.max_tokens - std::ssize(text_.result.tokens);
    TAPML_ASSIGN(const int64_t room, engine_.state_->proposal_room(engine_.state_->own, left));
    TAPML_ASSIGN(const Proposal proposal, speculation.propose(tokens_, room));
    const double start = seconds_now();
    if (proposal.tokens.empty()) {
      TAPML_ASSIGN(const bool more, plain_step(token));
      speculation.note_plain(seconds_now() - start);
      return more;
    }
    std::vector<int32_t> chosen;
    TAPML_ASSIGN(const bool more,
                 Verification(engine_, options_, rows_, text_).run(token, proposal, chosen));
    const auto count = static_cast<int64_t>(chosen.size());
    const auto accepted = std::ranges::mismatch(chosen, proposal.tokens).in1 - chosen.begin();
    speculation.note_verified(seconds_now() - start, std::ssize(proposal.tokens), accepted, count);
    text_.result.decode_steps += count;
    if (!more) return false;
    tokens_.insert(tokens_.end(), chosen.begin(), chosen.end() - 1);
    token = chosen.back();
    return true;
  }

  Result<Tensor> run_prompt(std::span<const int32_t> prompt) {
    if (!options_.keep_logits) return engine_.prefill(prompt);
    TAPML_ASSIGN(HostTensor all, engine_.logits_all(prompt));
    if (!options_.not_finite_ends) TAPML_TRY(engine_.check_logits(all));
    rows_.append(all);
    return runtime::upload(engine_.vm().session(), rows_.last());
  }

  // Chooses the next token; returns whether the text goes on.
  Result<bool> choose(const Tensor& logits, int32_t& token) {
    // Tokens that speculation draws are drawn on the host, so that one generator draws all.
    const bool on_host =
        options_.constrain || (options_.speculation && options_.sampler.temperature > 0);
    TAPML_ASSIGN(token, on_host ? engine_.state_->choose_on_host(logits, options_.constrain)
                                : engine_.state_->choose(logits));
    if (token >= 0) return text_.accept(token, engine_.length() >= engine_.capacity());
    if (!options_.not_finite_ends) return fail(engine_.state_->not_finite(logits, 0));
    text_.end_not_finite();
    return false;
  }

  Engine& engine_;
  const GenerateOptions& options_;
  LogitRows rows_;
  Continuation text_;
  std::vector<int32_t> tokens_;  // of the whole text, for speculation
};

Result<Generation> Engine::generate(std::span<const int32_t> prompt,
                                    const GenerateOptions& options) {
  TAPML_TRY(check_options(options));
  reset();
  return extend(prompt, options);
}

Result<Generation> Engine::extend(std::span<const int32_t> prompt, const GenerateOptions& options) {
  TAPML_TRY(check_options(options));
  // Only tokens follow the prompt.
  if (options.max_tokens > 0) TAPML_TRY(state_->check_prompt(state_->own, std::ssize(prompt)));
  TAPML_TRY(set_sampler(options.sampler));
  return Generator(*this, options).run(prompt);
}

}  // namespace tapml::llm
