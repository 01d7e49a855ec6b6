#include "server/text_service.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "llm/grammar/token_mask.h"
#include "llm/stop_texts.h"

namespace tapml::server {

namespace {

ServedEnd::Reason reason_of(llm::StopReason reason, bool is_complete, bool by_time) {
  if (is_complete) return ServedEnd::Reason::kStopText;
  if (by_time) return ServedEnd::Reason::kTime;
  switch (reason) {
    case llm::StopReason::kEos:
      return ServedEnd::Reason::kEndToken;
    case llm::StopReason::kContextFull:
      return ServedEnd::Reason::kContextFull;
    case llm::StopReason::kMaxTokens:
    case llm::StopReason::kCaller:
    case llm::StopReason::kNotFinite:  // an error
      break;
  }
  return ServedEnd::Reason::kMaxTokens;
}

// The characters of a text that is being generated. Lives on the service's thread.
class GrowingText {
 public:
  // `texts`: of the tokens, for requests with a grammar.
  // `open` counts the texts that there are.
  GrowingText(const Tokenizer& tokenizer, const llm::TokenTexts* texts, ServedRequest asked,
              double until, Metrics& metrics, std::atomic<int64_t>& open)
      : open_(open),
        tokenizer_(tokenizer),
        texts_(texts),
        request_(std::move(asked)),
        decoder_(tokenizer),
        stop_(request_.stop),
        begun_(seconds_now()),
        until_(until),
        last_(begun_),
        metrics_(metrics) {
    ++open_;
  }
  ~GrowingText() { --open_; }
  GrowingText(const GrowingText&) = delete;

  llm::TextRequest take_request() {
    llm::TextRequest taken = std::move(request_.text);
    if (request_.grammar) {
      mask_.emplace(request_.grammar, *texts_, taken.eos);
      taken.constrain = [this](std::span<float> logits) { mask_->apply(logits); };
    }
    taken.on_token = [this](const llm::ChosenToken& token) { return on_token(token); };
    return taken;
  }

  void on_end(const Result<llm::TextEnd>& end) {
    if (!end) return request_.on_end(fail(end.error()));
    if (!stop_.stopped()) give({stop_.push(decoder_.finish()), {}});
    if (!stop_.stopped()) give({stop_.finish(), {}});
    const bool is_complete = stop_.stopped() || is_over_;
    request_.on_end(ServedEnd{reason_of(end->reason, is_complete, by_time_), *end});
  }

  // Without a token.
  void fail_with(const Error& error) { request_.on_end(fail(error)); }

 private:
  // False ends the text.
  bool on_token(const llm::ChosenToken& token) {
    const double now = seconds_now();
    (is_first_ ? metrics_.first_token : metrics_.between_tokens).add(now - last_);
    is_first_ = false;
    last_ = now;
    if (token.is_end) return true;
    TextPiece piece;
    if (token.probabilities) piece.tokens.push_back(report(token));
    piece.text = stop_.push(decoder_.push(token.token));
    give(std::move(piece));
    is_over_ = mask_ && !mask_->accept(token.token);
    by_time_ = now >= until_;
    return !stop_.stopped() && !is_over_ && !by_time_;
  }
  std::string text_of(int32_t token) const {
    return tokenizer_.decode(std::span(&token, 1), /*skip_special=*/false);
  }
  TokenReport report(const llm::ChosenToken& token) const {
    TokenReport report{text_of(token.token), token.probabilities->chosen, {}};
    for (const auto& [other, log_probability] : token.probabilities->top) {
      report.top.emplace_back(text_of(other), log_probability);
    }
    return report;
  }
  void give(TextPiece piece) {
    if (piece.text.empty() && piece.tokens.empty()) return;
    request_.on_piece(std::move(piece));
  }

  std::atomic<int64_t>& open_;
  const Tokenizer& tokenizer_;
  const llm::TokenTexts* texts_;
  ServedRequest request_;
  std::optional<llm::TokenMask> mask_;
  StreamDecoder decoder_;
  llm::StopTexts stop_;
  const double begun_, until_;
  double last_;
  bool is_first_ = true, by_time_ = false;
  bool is_over_ = false;  // the grammar allows no more
  Metrics& metrics_;
};

}  // namespace

struct TextService::State {
  State(const Tokenizer& reads, const ServiceOptions& asked,
        std::unique_ptr<llm::ContinuousBatch> texts)
      : tokenizer(reads), options(asked), batch(std::move(texts)), last_counts(batch->counts()) {
    thread = std::thread([this] { run(); });
  }

  ~State() { stop(); }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      if (std::exchange(stopping, true)) return;
    }
    changed.notify_one();
    thread.join();
  }

  std::optional<TextId> submit(ServedRequest request) {
    const llm::TokenTexts* texts = nullptr;
    if (request.grammar) texts = &token_texts();
    const std::lock_guard lock(mutex);
    const bool is_full = open >= last_counts.texts + options.waiting;
    if (stopping || !healthy || is_full) return std::nullopt;
    const double until = seconds_now() + static_cast<double>(options.text_time.count());
    submitted.push_back(
        {++last_id, std::make_unique<GrowingText>(tokenizer, texts, std::move(request), until,
                                                  metrics, open)});
    changed.notify_one();
    return last_id;
  }

  void cancel(TextId text) {
    const std::lock_guard lock(mutex);
    cancelled.push_back(text);
    changed.notify_one();
  }

  // Made when a request needs them: it takes a moment.
  const llm::TokenTexts& token_texts() {
    std::call_once(texts_made, [this] { made_texts.emplace(tokenizer); });
    return *made_texts;
  }

  // The service's thread.
  void run() {
    bool has_work = false;
    for (;;) {
      std::deque<Submitted> added;
      std::vector<TextId> removed;
      {
        std::unique_lock lock(mutex);
        last_counts = batch->counts();
        if (!has_work) {
          changed.wait(lock, [&] { return stopping || !submitted.empty() || !cancelled.empty(); });
        }
        if (stopping) break;
        added = std::exchange(submitted, {});
        removed = std::exchange(cancelled, {});
      }
      for (Submitted& text : added) begin(std::move(text));
      for (const TextId text : removed) remove(text);
      const double start = seconds_now();
      const Result<bool> more = batch->step();  // ends all texts if it fails
      has_work = more.value_or(false);
      if (has_work) metrics.steps.add(seconds_now() - start);
      if (more) continue;
      const std::lock_guard lock(mutex);
      const Error& error = more.error();
      healthy = error.kind == ErrorKind::kUser || error.fault == PlatformFault::kOutOfMemory;
    }
    end_all();
  }

  struct Submitted {
    TextId id = 0;
    std::unique_ptr<GrowingText> text;
  };

  void begin(Submitted submitted) {
    const TextId id = submitted.id;
    GrowingText& text = *submitted.text;
    llm::TextRequest request = text.take_request();
    request.on_end = [this, id](const Result<llm::TextEnd>& end) {
      const auto at = texts.find(id);
      at->second.text->on_end(end);
      texts.erase(at);
    };
    const auto in_batch = batch->submit(std::move(request));
    if (!in_batch) return text.fail_with(in_batch.error());
    texts[id] = {*in_batch, std::move(submitted.text)};
  }

  void remove(TextId id) {
    const auto at = texts.find(id);
    if (at == texts.end()) return;
    batch->cancel(at->second.in_batch);
    texts.erase(at);
  }

  void end_all() {
    const Error error = platform_error(PlatformFault::kCancelled, "the server is shutting down");
    for (const Submitted& text : submitted) text.text->fail_with(error);
    submitted.clear();
    for (const auto& [id, text] : texts) {
      batch->cancel(text.in_batch);
      text.text->fail_with(error);
    }
    texts.clear();
  }

  struct Running {
    llm::ContinuousBatch::TextId in_batch = 0;
    std::unique_ptr<GrowingText> text;
  };

  const Tokenizer& tokenizer;
  const ServiceOptions options;
  std::once_flag texts_made;
  std::optional<llm::TokenTexts> made_texts;
  Metrics metrics;
  std::atomic<int64_t> open = 0;  // texts, waiting or running
  std::unique_ptr<llm::ContinuousBatch> batch;
  std::map<TextId, Running> texts;  // of the service's thread
  mutable std::mutex mutex;         // for what follows
  std::condition_variable changed;
  std::deque<Submitted> submitted;
  std::vector<TextId> cancelled;
  llm::ContinuousBatch::Counts last_counts;
  TextId last_id = 0;
  bool stopping = false, healthy = true;
  std::thread thread;  // last: uses all others
};

TextService::TextService(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextService::~TextService() = default;

Result<std::unique_ptr<TextService>> TextService::start(llm::Engine& engine,
                                                        const Tokenizer& tokenizer,
                                                        const ServiceOptions& options) {
  TAPML_ASSIGN(auto batch, llm::ContinuousBatch::create(engine, options.batch));
  return std::unique_ptr<TextService>(
      new TextService(std::make_unique<State>(tokenizer, options, std::move(batch))));
}

std::optional<TextService::TextId> TextService::submit(ServedRequest request) {
  return state_->submit(std::move(request));
}
void TextService::cancel(TextId text) { state_->cancel(text); }
void TextService::stop() { state_->stop(); }
bool TextService::is_healthy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->healthy;
}
llm::ContinuousBatch::Counts TextService::counts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->last_counts;
}
const Metrics& TextService::metrics() const { return state_->metrics; }

}  // namespace tapml::server
