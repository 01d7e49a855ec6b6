// A conversation of a caller and a model: text in, text out, with the earlier turns kept in the
// cache.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/engine.h"
#include "llm/package.h"
#include "llm/speculation/speculation.h"

namespace tapml::llm {

struct TurnOptions {
  int64_t max_tokens = 128;  // 0: only runs the prompt
  SamplerOptions sampler;
  // Receives the answer in pieces of whole characters, never an empty one; false ends it.
  std::function<bool(std::string_view text)> on_text;
  // Speculative decoding: proposes what followed the last `lookup` tokens; 0: by the draft model,
  // if there is one. Without tokens to propose there is none.
  int64_t lookup = 0;
  SpeculationOptions propose;
};

enum class TurnEnd : uint8_t { kEndToken, kMaxTokens, kContextFull, kCaller, kCancelled };

struct Turn {
  TurnEnd end = TurnEnd::kMaxTokens;
  std::vector<int32_t> tokens;  // of the answer, without the end token
  int64_t prompt_tokens = 0;    // run in this turn before the first token
  double prefill_seconds = 0;   // until the first token is known
  double decode_seconds = 0;    // of the tokens after it
  SpeculationCounts speculation;
};

// Not thread-safe, except for cancel().
class Conversation {
 public:
  // `capacity`: tokens that the cache can hold; 0: the model's context. UserError as for
  // Engine::create.
  static Result<std::unique_ptr<Conversation>> create(runtime::Session& session, Package package,
                                                      int64_t capacity = 0);

  // Loads a smaller model that proposes tokens in every turn from now on. UserError for a model
  // that cannot check them, another vocabulary, and as DraftModel::create().
  Status set_draft(Package package);

  // Appends the prompt and the model's answer. The first prompt is encoded with the special tokens
  // that the tokenizer puts around a text, later ones without. The text does not include the end
  // token. An empty prompt continues an answer that ended early. A refused prompt or option
  // (UserError: not UTF-8, longer than the rest of the cache, nothing to run, out of range) changes
  // nothing; a failure while the model runs clears the conversation. cancel() is not a failure: the
  // answer so far stays, an unfinished prompt does not. A prompt that ends before an embedding's
  // position is refused, too, unless max_tokens is 0.
  Result<Turn> say(std::string_view prompt, const TurnOptions& options);

  // Sets the features of this conversation, which begins anew, and of later ones. UserError as for
  // Engine::set_features().
  Status set_features(HostTensor features);
  // Adds embeddings [m, d] for the tokens of the next prompts that are at consecutive positions
  // from `first` on, at least length(). They belong to the conversation. UserError as for
  // Engine::place_embeddings().
  Status place_embeddings(const HostTensor& rows, int64_t first);

  void reset();
  // Thread-safe. Ends the running turn between two kernels; does nothing if none runs.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

  // Tokens of the conversation, including the last one, which is not in the cache.
  int64_t length() const { return engine_->length() + (unread_ ? 1 : 0); }
  int64_t capacity() const { return engine_->capacity(); }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Engine& engine() const { return *engine_; }

 private:
  Conversation(std::unique_ptr<Engine> engine, Tokenizer tokenizer, std::vector<int32_t> end_tokens)
      : engine_(std::move(engine)),
        tokenizer_(std::move(tokenizer)),
        end_tokens_(std::move(end_tokens)) {}
  // The tokens that a turn runs before its first one.
  Result<std::vector<int32_t>> encode(std::string_view prompt) const;

  // What proposes the tokens of a turn; null: nothing.
  Result<Speculation*> speculation_for(const TurnOptions& options);

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Engine> draft_;  // null: none
  // That of the last turn, for as long as its options stay: a draft model keeps what it has read.
  std::unique_ptr<Speculation> speculation_;
  int64_t lookup_ = 0;
  SpeculationOptions propose_;
  Tokenizer tokenizer_;
  std::vector<int32_t> end_tokens_;
  std::optional<int32_t> unread_;  // the last token, if the model has not run it yet
  std::atomic<bool> cancelled_ = false;
};

}  // namespace tapml::llm
