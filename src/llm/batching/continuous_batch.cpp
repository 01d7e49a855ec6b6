#include "llm/batching/continuous_batch.h"

#include <algorithm>
#include <deque>

#include "llm/batching/batch_pace.h"
#include "llm/batching/choose_tokens.h"
#include "llm/batching/prefix_cache.h"
#include "llm/engine_state.h"

namespace tapml::llm {

using runtime::Tensor;

struct ContinuousBatch::Text {
  Text(TextId number, TextRequest asked, StateRows& rows)
      : id(number),
        request(std::move(asked)),
        sequence(rows),
        tokens(request.prompt),
        generator(sampler_state(request.sampler)) {
    end.prompt_tokens = std::ssize(request.prompt);
  }
  // Tokens that the model has not read yet.
  int64_t unread() const { return std::ssize(tokens) - sequence.length; }
  // Whether the next step is one token, so that it can be one of many texts'.
  bool decodes() const { return sequence.length > 0 && unread() == 1; }

  TextId id;
  TextRequest request;
  Sequence sequence;
  std::vector<int32_t> tokens;  // of the prompt, and those that were generated
  HostTensor generator;
  TextEnd end;
  bool has_begun = false;  // its shared tokens are known
  // While proposed tokens are checked: the tokens in the cache that are chosen ones.
  std::optional<int64_t> checked;
};

class ContinuousBatch::State {
 public:
  State(Engine& engine, Engine::State& internal, const BatchOptions& options, int64_t pages)
      : state_(internal),
        options_(options),
        pace_(options.propose.keep),
        pages_(pages),
        prefixes_(internal.rows.pages, internal.rows.page_size) {
    engine.reset();
    state_.page_limit = pages;
  }
  ~State() {
    for (const auto& text : running_) forget_proposals(*text);
    state_.last.function = nullptr;  // its sequences are gone
    state_.page_limit = 0;
  }
  State(const State&) = delete;

  Result<TextId> submit(TextRequest request) {
    TAPML_TRY(check(request));
    waiting_.push_back(std::make_unique<Text>(++last_id_, std::move(request), state_.rows));
    return last_id_;
  }

  void cancel(TextId id) {
    state_.last.function = nullptr;
    const auto is_it = [id](const std::unique_ptr<Text>& text) { return text->id == id; };
    std::erase_if(waiting_, is_it);
    std::erase_if(running_, is_it);
    if (options_.proposer) options_.proposer->forget(id);
  }

  Result<bool> step() {
    admit();
    if (running_.empty()) return false;
    ++counts_.steps;
    has_read_piece_ = false;
    Status done = read_prompt();
    if (done) done = append_tokens();
    if (done) return true;
    fail_all(done.error());
    return fail(std::move(done).error());
  }

  bool shares_prefixes() const {
    const ModelInterface& model = state_.model;
    return options_.share_prefixes && model.has_state(StateKind::kPaged) &&
           !model.has_state(StateKind::kRecurrent) && !model.has_state(StateKind::kFixed) &&
           state_.window == 0 && model.short_text == 0;
  }

  Counts counts() const {
    Counts counts = counts_;
    counts.texts = options_.texts;
    counts.waiting = std::ssize(waiting_);
    counts.running = std::ssize(running_);
    counts.pages = pages_;
    counts.cached_pages = prefixes_.size();
    std::vector<int32_t> used;
    for (const auto& text : running_) {
      const std::vector<int32_t>& table = text->sequence.pages.table();
      used.insert(used.end(), table.begin(), table.end());
    }
    std::ranges::sort(used);
    counts.used_pages = std::unique(used.begin(), used.end()) - used.begin();
    counts.speculation_stops = pace_.stops();
    if (options_.proposer) {
      counts.draft_pages = options_.proposer->pages();
      counts.used_draft_pages = options_.proposer->used_pages();
    }
    return counts;
  }

 private:
  Status check(const TextRequest& request) const {
    TAPML_TRY(state_.check_tokens(state_.own, request.prompt));
    if (std::ssize(request.prompt) >= state_.longest_text) {
      return fail(user_error("the prompt leaves no room for an answer", "prompt",
                             "fewer than " + std::to_string(state_.longest_text) + " tokens",
                             std::to_string(request.prompt.size()) + " tokens", "shorten it"));
    }
    if (request.max_tokens < 1) {
      return fail(user_error("the number of tokens to generate is too small", "max_tokens",
                             "1 or more", std::to_string(request.max_tokens)));
    }
    TAPML_TRY(check_sampler_options(request.sampler));
    return check_logit_rules(request.rules, state_.model.vocabulary);
  }

  int64_t free_pages() const {
    const PageAllocator& allocator = state_.rows.pages;
    const int64_t kept = state_.fragmented ? 1 : 0;
    return pages_ - (allocator.pages() - allocator.free_pages()) - kept;
  }
  // Pages that `count` more tokens of a text take, after those that left its window are free.
  int64_t pages_for(Text& text, int64_t count) const {
    if (!state_.model.has_state(StateKind::kPaged)) return 0;
    Sequence& sequence = text.sequence;
    if (state_.window > 0) sequence.pages.release_before(sequence.length - state_.window);
    return state_.pages_for(sequence.length + count) - std::ssize(sequence.pages.table());
  }

  // Lets texts in while there is a place for them, and room for what they will read and for the
  // next pages of the others. One text always has room: the pages hold the longest one.
  void admit() {
    while (!waiting_.empty() && std::ssize(running_) < options_.texts) {
      Text& next = *waiting_.front();
      const int64_t needed = pages_for(next, next.unread() + 1) + std::ssize(running_);
      if (!running_.empty() && needed > free_pages() + prefixes_.unused()) return;
      running_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }

  // Whether `pages` are free, after those that no text uses have been given back. Otherwise the
  // text that came last waits. An error is one of the device; if its memory does not hold the cache
  // that the options allow, the cache stays as large as it is.
  Result<bool> make_room(int64_t pages) {
    if (free_pages() < pages) prefixes_.release(pages - free_pages());
    if (free_pages() >= pages || running_.size() <= 1) {
      const PageAllocator& allocator = state_.rows.pages;
      const int64_t used = allocator.pages() - allocator.free_pages();
      const Status grown = state_.grow(used + pages + (state_.fragmented ? 1 : 0), 1);
      if (grown) return true;
      if (grown.error().fault != PlatformFault::kOutOfMemory || running_.size() <= 1) {
        return fail(grown.error());
      }
      pages_ = allocator.pages();
      state_.page_limit = pages_;
    }
    preempt();
    return false;
  }

  // Takes the pages of the text that came last.
  void preempt() {
    std::unique_ptr<Text> text = std::move(running_.back());
    running_.pop_back();
    remember(*text);
    text->sequence.clear();
    forget_proposals(*text);
    state_.last.function = nullptr;
    ++counts_.preemptions;
    waiting_.push_front(std::move(text));
  }

  // Keeps the full pages of a text for later ones.
  void remember(const Text& text) {
    if (!shares_prefixes()) return;
    const auto read = std::span(text.tokens).first(static_cast<size_t>(text.sequence.length));
    prefixes_.insert(read, text.sequence.pages.table());
  }

  // Begins a text with the pages that the cache has. The last token is always read, because its
  // logits choose the next one.
  void begin(Text& text) {
    Sequence& sequence = text.sequence;
    int64_t shared = 0;
    if (shares_prefixes()) {
      const std::vector<int32_t> pages =
          prefixes_.find(std::span(text.tokens).first(text.tokens.size() - 1));
      shared = std::ssize(pages) * state_.rows.page_size;
      if (shared > 0) {
        sequence.pages.adopt(pages);
        sequence.length = shared;
        sequence.tokens.assign(text.tokens.begin(), text.tokens.begin() + shared);
        sequence.calls = {{"prefill", shared}};
      }
    }
    if (!std::exchange(text.has_begun, true)) {
      text.end.shared_tokens = shared;
      counts_.shared_tokens += shared;
      counts_.prompt_tokens += text.end.prompt_tokens;
    }
    Sequence* one = &sequence;
    state_.plan({&one, 1}, text.unread());
  }

  // Reads a piece of the prompt of the first text that has one.
  Status read_prompt() {
    const auto at =
        std::ranges::find_if(running_, [](const auto& text) { return !text->decodes(); });
    if (at == running_.end()) return {};
    Text& text = **at;
    Sequence* const one = &text.sequence;
    if (one->length == 0) begin(text);
    if (text.decodes()) return {};
    TAPML_ASSIGN(const int64_t count,
                 state_.piece_of({&one, 1}, std::min(text.unread(), options_.prompt_piece)));
    TAPML_ASSIGN(const bool has_room, make_room(pages_for(text, count)));
    if (!has_room) return {};
    const auto piece = std::span(text.tokens)
                           .subspan(static_cast<size_t>(one->length), static_cast<size_t>(count));
    const bool is_last = count == text.unread();
    has_read_piece_ = true;
    TAPML_ASSIGN(const Tensor logits, state_.step("prefill", {&one, 1}, piece, is_last));
    if (!is_last) return {};
    remember(text);
    return accept({&text}, logits);
  }

  // Appends a token to each text whose prompt is read, or several that were proposed.
  Status append_tokens() {
    std::vector<Text*> texts;
    for (bool has_room = false; !has_room;) {
      texts.clear();
      int64_t pages = 0;
      for (const auto& text : running_) {
        if (!text->decodes()) continue;
        texts.push_back(text.get());
        pages += pages_for(*text, 1);
      }
      if (texts.empty()) return {};
      TAPML_ASSIGN(has_room, make_room(pages));
    }
    const auto count = std::ssize(texts);
    double start = seconds_now();
    if (options_.proposer && pace_.proposes(count)) {
      TAPML_ASSIGN(const std::vector<TextToPropose> proposals, propose(texts));
      TAPML_ASSIGN(const int64_t width, width_of(texts, proposals));
      if (width > 1) return verify(texts, proposals, width, start);
      start = seconds_now();
    }
    std::vector<Sequence*> sequences;
    std::vector<int32_t> tokens;
    for (Text* text : texts) {
      sequences.push_back(&text->sequence);
      tokens.push_back(text->tokens.back());
    }
    state_.plan(sequences, 1);
    TAPML_ASSIGN(const Tensor logits, state_.step("decode", sequences, tokens));
    TAPML_TRY(accept(texts, logits));
    if (options_.proposer && !has_read_piece_) pace_.plain(count, seconds_now() - start);
    return {};
  }

  Result<std::vector<TextToPropose>> propose(const std::vector<Text*>& texts) {
    std::vector<TextToPropose> proposals;
    for (Text* text : texts) {
      const int64_t left = text->request.max_tokens - text->end.tokens;
      TAPML_ASSIGN(const int64_t room, state_.proposal_room(text->sequence, left));
      proposals.push_back({.id = text->id,
                           .tokens = text->tokens,
                           .prompt = text->end.prompt_tokens,
                           .count = std::clamp<int64_t>(room, 0, options_.propose.tokens),
                           .sampler = &text->request.sampler,
                           .rules = &text->request.rules,
                           .generator = &text->generator,
                           .proposed = {}});
    }
    TAPML_TRY(options_.proposer->propose(proposals));
    return proposals;
  }

  // The rows of each text in the call that checks these: for the longest proposal, as far as every
  // text has room for so many and no text has to wait for the pages. 1: a plain step is due.
  Result<int64_t> width_of(const std::vector<Text*>& texts,
                           const std::vector<TextToPropose>& proposals) {
    int64_t width = 1;
    for (const TextToPropose& one : proposals)
      width = std::max<int64_t>(width, 1 + std::ssize(one.proposed));
    for (Text* text : texts) {
      if (width == 1) return width;
      TAPML_ASSIGN(const int64_t room, state_.proposal_room(text->sequence, width));
      width = std::min(width, 1 + std::max<int64_t>(room, 0));
    }
    const int64_t free = free_pages() + prefixes_.unused();
    while (width > 1 && pages_for(texts, width) > free) --width;
    return width;
  }
  int64_t pages_for(const std::vector<Text*>& texts, int64_t count) const {
    int64_t pages = 0;
    for (Text* text : texts) pages += pages_for(*text, count);
    return pages;
  }

  // Checks the proposed tokens by one call, in which each text has `width` rows. `start`: when
  // proposing them began.
  Status verify(const std::vector<Text*>& texts, const std::vector<TextToPropose>& proposals,
                int64_t width, double start) {
    TAPML_ASSIGN(const bool has_room, make_room(pages_for(texts, width)));
    if (!has_room) return {};
    std::vector<Sequence*> sequences;
    std::vector<int32_t> tokens;
    std::vector<std::vector<int32_t>> proposed;
    bool on_host = false;
    for (size_t i = 0; i < texts.size(); ++i) {
      sequences.push_back(&texts[i]->sequence);
      const int32_t last = texts[i]->tokens.back();
      const auto taken = std::min<int64_t>(std::ssize(proposals[i].proposed), width - 1);
      const auto own = std::span(proposals[i].proposed).first(static_cast<size_t>(taken));
      tokens.push_back(last);
      tokens.insert(tokens.end(), own.begin(), own.end());
      tokens.insert(tokens.end(), static_cast<size_t>(width - 1 - taken), last);
      proposed.emplace_back(own.begin(), own.end());
      counts_.proposed_tokens += taken;
      on_host |= texts[i]->request.sampler.temperature > 0 || needs_host(row_of(*texts[i]));
    }
    state_.plan(sequences, width);
    TAPML_ASSIGN(Tensor logits, state_.step("logits_all", sequences, tokens));
    logits.shape = {std::ssize(texts) * width, state_.model.vocabulary};
    TAPML_ASSIGN(const LaterRows rows, LaterRows::read(state_, logits, on_host));
    ++counts_.verify_steps;
    int64_t chosen = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      chosen += accept_proposed(*texts[i], proposed[i], rows, static_cast<int64_t>(i) * width,
                                texts[i]->sequence.length - width);
    }
    state_.last.function = nullptr;
    if (!has_read_piece_) pace_.verified(std::ssize(texts), seconds_now() - start, chosen);
    return {};
  }

  // Chooses tokens for a text for as long as they are the proposed ones, and one more; the cache
  // then holds all but the last one. `row`: its first row; `length`: its tokens before the call.
  // Returns how many tokens were chosen. The text may have ended.
  int64_t accept_proposed(Text& text, std::span<const int32_t> proposed, const LaterRows& rows,
                          int64_t row, int64_t length) {
    for (int64_t i = 0;; ++i) {
      RowToChoose one = row_of(text);
      rows.choose(row + i, one);
      const auto at = static_cast<size_t>(i);
      const bool is_accepted =
          at < proposed.size() && one.chosen && one.chosen->token == proposed[at];
      counts_.accepted_tokens += is_accepted ? 1 : 0;
      text.checked = length + i + 1;
      if (!accept(text, one.chosen)) return i + 1;
      if (is_accepted) continue;
      take_back(text);
      return i + 1;
    }
  }

  // Takes back the rows that hold no chosen token.
  static void take_back(Text& text) {
    if (!text.checked) return;
    text.sequence.rewind(*text.checked);
    text.checked.reset();
  }

  static RowToChoose row_of(Text& text) {
    return {.sampler = &text.request.sampler,
            .rules = &text.request.rules,
            .constrain = &text.request.constrain,
            .tokens = text.tokens,
            .prompt = text.end.prompt_tokens,
            .top_probabilities = text.request.top_probabilities,
            .generator = &text.generator,
            .chosen = {}};
  }

  // Chooses a token for each row of the logits; ends texts.
  Status accept(const std::vector<Text*>& texts, const Tensor& logits) {
    std::vector<RowToChoose> rows;
    rows.reserve(texts.size());
    for (Text* text : texts) rows.push_back(row_of(*text));
    TAPML_TRY(choose_tokens(state_, logits, rows));
    for (size_t i = 0; i < texts.size(); ++i) accept(*texts[i], rows[i].chosen);
    return {};
  }

  // Whether the text goes on; otherwise it is gone.
  bool accept(Text& text, const Result<ChosenToken>& chosen) {
    if (!chosen) {
      ++counts_.failed;
      finish(text, fail(chosen.error()));
      return false;
    }
    const auto stop = [&](StopReason reason) {
      text.end.reason = reason;
      ++counts_.ended;
      finish(text, text.end);
      return false;
    };
    ChosenToken token = *chosen;
    token.is_end = std::ranges::find(text.request.eos, token.token) != text.request.eos.end();
    if (!token.is_end) {
      text.tokens.push_back(token.token);
      ++text.end.tokens;
      ++counts_.generated_tokens;
    }
    const bool goes_on = !text.request.on_token || text.request.on_token(token);
    if (token.is_end) return stop(StopReason::kEos);
    if (!goes_on) return stop(StopReason::kCaller);
    if (text.end.tokens >= text.request.max_tokens) return stop(StopReason::kMaxTokens);
    const int64_t read = text.checked.value_or(text.sequence.length);
    if (read >= state_.longest_text) return stop(StopReason::kContextFull);
    return true;
  }

  void finish(Text& text, const Result<TextEnd>& end) {
    take_back(text);
    remember(text);
    forget_proposals(text);
    const auto at =
        std::ranges::find_if(running_, [&](const auto& one) { return one.get() == &text; });
    const std::unique_ptr<Text> ended = std::move(*at);
    running_.erase(at);
    state_.last.function = nullptr;
    if (ended->request.on_end) ended->request.on_end(end);
  }

  void forget_proposals(const Text& text) {
    if (options_.proposer) options_.proposer->forget(text.id);
  }

  void fail_all(const Error& error) {
    state_.last.function = nullptr;
    std::vector<std::unique_ptr<Text>> texts = std::exchange(running_, {});
    std::ranges::move(waiting_, std::back_inserter(texts));
    waiting_.clear();
    counts_.failed += std::ssize(texts);
    for (const auto& text : texts) {
      text->sequence.clear();
      forget_proposals(*text);
    }
    for (const auto& text : texts) {
      if (text->request.on_end) text->request.on_end(fail(error));
    }
  }

  Engine::State& state_;
  const BatchOptions options_;
  BatchPace pace_;
  bool has_read_piece_ = false;                 // of a prompt, in this step
  int64_t pages_;                               // most
  PrefixCache prefixes_;                        // outlives the texts
  std::vector<std::unique_ptr<Text>> running_;  // in the order in which they came
  std::deque<std::unique_ptr<Text>> waiting_;
  TextId last_id_ = 0;
  Counts counts_;
};

ContinuousBatch::ContinuousBatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
ContinuousBatch::~ContinuousBatch() = default;

Result<std::unique_ptr<ContinuousBatch>> ContinuousBatch::create(Engine& engine,
                                                                 const BatchOptions& asked) {
  Engine::State& state = *engine.state_;
  BatchOptions options = asked;
  if (options.texts < 0 || options.prompt_piece < 1 || options.cached_tokens < 0) {
    return fail(user_error("an option of the batch is out of range", "batch options",
                           "at least one text, a piece of at least one token, a positive cache",
                           std::to_string(options.texts) + " texts, a piece of " +
                               std::to_string(options.prompt_piece) + " tokens, a cache of " +
                               std::to_string(options.cached_tokens) + " tokens"));
  }
  if (options.proposer) {
    TAPML_TRY(check_verifies(state.model));
    TAPML_TRY(check_speculation_options(options.propose));
  }
  const auto tokens =
      InputOfText::find(engine.vm().executable(), state.function("decode"), Role::kTokens);
  const bool takes_one = tokens && tokens->constant_texts();
  if (options.texts == 0) options.texts = takes_one ? 1 : 16;
  if (options.texts > 1 && takes_one) {
    return fail(user_error("the model's functions take one text at a time", "texts", "1",
                           std::to_string(options.texts)));
  }
  const int64_t longest = state.pages_for(state.capacity) + (state.fragmented ? 1 : 0);
  const int64_t pages =
      options.cached_tokens > 0 ? state.pages_for(options.cached_tokens) : 2 * longest;
  if (pages < longest) {
    return fail(user_error("the cache does not hold one text", "cached_tokens",
                           "at least " + std::to_string(longest * state.model.page_size),
                           std::to_string(options.cached_tokens),
                           "make the cache larger, or the longest text shorter"));
  }
  return std::unique_ptr<ContinuousBatch>(
      new ContinuousBatch(std::make_unique<State>(engine, state, options, pages)));
}

Result<ContinuousBatch::TextId> ContinuousBatch::submit(TextRequest request) {
  return state_->submit(std::move(request));
}
void ContinuousBatch::cancel(TextId text) { state_->cancel(text); }
Result<bool> ContinuousBatch::step() { return state_->step(); }
bool ContinuousBatch::shares_prefixes() const { return state_->shares_prefixes(); }
ContinuousBatch::Counts ContinuousBatch::counts() const { return state_->counts(); }

}  // namespace tapml::llm
