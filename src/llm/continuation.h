// The text that is generated, token by token. Internal to the component.
#pragma once

#include <algorithm>

#include "llm/engine.h"

namespace tapml::llm {

// UserError for a negative number of tokens.
Status check_options(const GenerateOptions& options);

class Continuation {
 public:
  explicit Continuation(const GenerateOptions& options) : options_(options) {}

  // Takes a sampled token; returns whether the text goes on. `full`: no more tokens fit the cache.
  bool accept(int32_t token, bool full) {
    if (std::ranges::find(options_.eos, token) != options_.eos.end()) return stop(StopReason::kEos);
    result.tokens.push_back(token);
    if (options_.on_token && !options_.on_token(token)) return stop(StopReason::kCaller);
    if (std::ssize(result.tokens) >= options_.max_tokens) return stop(StopReason::kMaxTokens);
    return full ? stop(StopReason::kContextFull) : true;
  }

  // The logits have no token to take.
  void end_not_finite() { stop(StopReason::kNotFinite); }

  Generation result;

 private:
  bool stop(StopReason reason) {
    result.reason = reason;
    return false;
  }

  const GenerateOptions& options_;
};

}  // namespace tapml::llm
