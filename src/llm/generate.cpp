// Generates one text: runs its prompt, then token after token.
#include "llm/continuation.h"
#include "llm/engine_state.h"

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
      TAPML_ASSIGN(logits, engine_.decode(token));
      if (options_.keep_logits) {
        TAPML_ASSIGN(HostTensor row, engine_.state_->bytes_of(logits));
        rows_.append(row);
      }
      TAPML_ASSIGN(more, choose(logits, token));
      ++result.decode_steps;
      tell(engine_.watcher(), {"decode", result.decode_steps, options_.max_tokens, "tokens"});
    }
    result.decode_seconds = seconds_now() - start;
    tell(engine_.watcher(), {"decode", options_.max_tokens, options_.max_tokens, "tokens"});
    if (options_.keep_logits) {
      result.logits = rows_.first(static_cast<int64_t>(prompt.size() + result.tokens.size()) - 1);
    }
    return std::move(result);
  }

 private:
  Result<Tensor> run_prompt(std::span<const int32_t> prompt) {
    if (!options_.keep_logits) return engine_.prefill(prompt);
    TAPML_ASSIGN(HostTensor all, engine_.logits_all(prompt));
    if (!options_.not_finite_ends) TAPML_TRY(engine_.check_logits(all));
    rows_.append(all);
    return runtime::upload(engine_.vm().session(), rows_.last());
  }

  // Chooses the next token; returns whether the text goes on.
  Result<bool> choose(const Tensor& logits, int32_t& token) {
    TAPML_ASSIGN(token, options_.constrain
                            ? engine_.state_->choose_on_host(logits, options_.constrain)
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
