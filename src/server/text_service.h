// Generates texts for many callers at once: one thread owns the engine, and callers submit requests
// from any other.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llm/batching/continuous_batch.h"
#include "llm/grammar/grammar.h"
#include "llm/tokenizer/tokenizer.h"
#include "server/metrics.h"

namespace tapml::server {

struct ServiceOptions {
  llm::BatchOptions batch;
  int64_t waiting = 256;                // texts that wait for a place; more are refused
  std::chrono::seconds text_time{600};  // of a text from its request on; then it ends
};

// A token as a caller sees it, with the natural logarithm of its probability.
struct TokenReport {
  std::string text;
  double log_probability = 0;
  std::vector<std::pair<std::string, double>> top;
};

// What a text has grown by: whole characters, which may be none.
struct TextPiece {
  std::string text;
  std::vector<TokenReport> tokens;  // only if probabilities were asked for
};

struct ServedEnd {
  // Why: kStopText is one of the request's, or the end of its grammar, kTime the service's limit.
  enum class Reason : uint8_t { kEndToken, kStopText, kMaxTokens, kContextFull, kTime } reason{};
  llm::TextEnd counts;
};

struct ServedRequest {
  llm::TextRequest text;  // without on_token and on_end
  std::vector<std::string> stop;
  std::shared_ptr<const llm::Grammar> grammar;  // of the whole text; null: any text
  // Called on the service's thread, one at a time; must be quick.
  std::function<void(TextPiece piece)> on_piece;
  // Once, unless the text is cancelled. UserError for a request that cannot be served, kCancelled
  // if the service ends, other errors for a failure of the engine.
  std::function<void(const Result<ServedEnd>& end)> on_end;
};

// All methods are thread-safe.
class TextService {
 public:
  using TextId = uint64_t;
  // The engine and the tokenizer outlive the service; the engine is used by nothing else. UserError
  // as llm::ContinuousBatch::create().
  static Result<std::unique_ptr<TextService>> start(llm::Engine& engine, const Tokenizer& tokenizer,
                                                    const ServiceOptions& options);
  // As stop().
  ~TextService();
  TextService(const TextService&) = delete;

  // Nothing: too many texts wait, or the engine is lost.
  std::optional<TextId> submit(ServedRequest request);
  // The text's functions are not called after its next token.
  void cancel(TextId text);
  // Ends all texts with an error (kCancelled), and takes no more.
  void stop();
  // Whether the engine works; it does not after an error of the device.
  bool is_healthy() const;
  llm::ContinuousBatch::Counts counts() const;  // of a moment ago
  const Metrics& metrics() const;

 private:
  struct State;
  explicit TextService(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tapml::server
