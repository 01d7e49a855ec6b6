// Generates many texts at once with one engine. Texts come and go at any step (continuous batching,
// Yu et al. 2022): a step reads one piece of one text's prompt, and then appends a token to each
// text whose prompt is read, so that a long prompt delays the others by one piece only.
//
// Texts with a common beginning share its full pages of the cache (prefix_cache.h). When pages run
// out, those that no text uses are taken first; then the text that came last gives back its pages,
// waits at the front, and is read again later. What a text becomes depends on its request alone,
// not on the others: its tokens are drawn by a generator of its own.
//
// With a proposer, a step checks the proposed tokens of all texts by one call of `logits_all`. Each
// token is chosen from the model's logits as without one, and a proposed token is accepted if it is
// the chosen one. The widest proposal makes the number of rows: a text with fewer tokens has its
// last one repeated. The rows after the chosen tokens are taken back before anything else sees
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "llm/batching/batch_proposer.h"
#include "llm/batching/logit_rules.h"
#include "llm/engine.h"
#include "llm/speculation/speculation.h"

namespace tapml::llm {

struct BatchOptions {
  // Most at once; the others wait. 0: 16, or 1 where the model takes one text only.
  int64_t texts = 0;
  int64_t cached_tokens = 0;   // that the pages of all texts hold; 0: twice the engine's capacity
  int64_t prompt_piece = 256;  // most prompt tokens of a step
  bool share_prefixes = true;
  // Proposes tokens, which one call checks together with the last token of each text; null: each
  // step gives a text one token. Outlives the batch, and is used by nothing else.
  BatchProposer* proposer = nullptr;
  SpeculationOptions propose;
};

struct ChosenToken {
  int32_t token = 0;
  bool is_end = false;  // it ends the text and is not part of it
  std::optional<TokenProbabilities> probabilities;
};

struct TextEnd {
  StopReason reason = StopReason::kMaxTokens;
  int64_t prompt_tokens = 0;
  int64_t shared_tokens = 0;  // of these, the ones that the cache had when the text began
  int64_t tokens = 0;         // generated, without the end token
};

struct TextRequest {
  std::vector<int32_t> prompt;
  int64_t max_tokens = 128;  // at least 1
  std::vector<int32_t> eos;  // tokens that end the text
  SamplerOptions sampler;
  LogitRules rules;
  int64_t top_probabilities = -1;  // -1: none are reported, 0: only the chosen token's
  // Sets the logits of tokens that may not follow to -infinity; the text ends if none is left.
  std::function<void(std::span<float> logits)> constrain;
  // Receives each token, the end token too; false ends the text (kCaller).
  std::function<bool(const ChosenToken& token)> on_token;
  // Called once, unless the text is cancelled. An error is the text's own: the others go on.
  std::function<void(const Result<TextEnd>& end)> on_end;
};

// The engine is used by nothing else meanwhile. Not thread-safe. on_token and on_end must not call
// it.
class ContinuousBatch {
 public:
  using TextId = uint64_t;

  struct Counts {
    int64_t texts = 0;  // most at once
    int64_t waiting = 0, running = 0;
    int64_t pages = 0;         // most at once
    int64_t used_pages = 0;    // by texts
    int64_t cached_pages = 0;  // kept for texts to come, those that texts use too
    // Since the beginning:
    int64_t prompt_tokens = 0, shared_tokens = 0, generated_tokens = 0;
    int64_t steps = 0, preemptions = 0, ended = 0, failed = 0;
    // Of a proposer: tokens, the calls that checked them, and how often it measured slower.
    int64_t proposed_tokens = 0, accepted_tokens = 0, verify_steps = 0, speculation_stops = 0;
    int64_t draft_pages = 0, used_draft_pages = 0;  // of its cache
  };

  // UserError for options out of range, a cache that does not hold a text of the engine's capacity,
  // several texts where the model's functions take one only, and a proposer where the model cannot
  // check tokens.
  static Result<std::unique_ptr<ContinuousBatch>> create(Engine& engine,
                                                         const BatchOptions& options = {});
  ~ContinuousBatch();
  ContinuousBatch(const ContinuousBatch&) = delete;

  // Adds a text. UserError for a prompt that is empty, has tokens outside the vocabulary, or leaves
  // no room for an answer, and for options out of range.
  Result<TextId> submit(TextRequest request);
  // Takes a text out; does nothing if it has ended.
  void cancel(TextId text);
  // Does the next piece of work; false: there is none. An error is one of the engine: all texts
  // have ended with it, and the engine may be lost.
  Result<bool> step();
  // Whether pages are shared: the model keeps a row of state for each token and nothing else.
  bool shares_prefixes() const;
  Counts counts() const;

 private:
  struct Text;
  class State;
  explicit ContinuousBatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tapml::llm
