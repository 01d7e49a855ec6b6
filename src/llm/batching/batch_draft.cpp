#include "llm/batching/batch_draft.h"

#include <algorithm>
#include <map>
#include <optional>

#include "llm/batching/choose_tokens.h"
#include "llm/engine_state.h"
#include "llm/speculation/draft_model.h"

namespace tapml::llm {

using runtime::Tensor;

namespace {

// A copy of a HostTensor shares its bytes, and these are advanced by each draw.
HostTensor copy_of(const HostTensor& generator) {
  return HostTensor::from(DType::kI64, generator.shape(), generator.values<int64_t>());
}

}  // namespace

class BatchDraft::State {
 public:
  State(Engine& draft, Engine::State& internal, const ModelInterface& model,
        const BatchDraftOptions& options)
      : state_(internal), vocabulary_(model.vocabulary), options_(options) {
    draft.reset();
    pages_ = state_.pages_for(options.cached_tokens);
    state_.page_limit = pages_;
    const auto tokens =
        InputOfText::find(state_.vm->executable(), state_.function("decode"), Role::kTokens);
    takes_one_ = tokens && tokens->constant_texts();
    longest_ = state_.longest_text;
    // A longer text would be read again from its start.
    if (state_.model.short_text > 0) longest_ = std::min(longest_, state_.model.short_text);
  }
  ~State() {
    state_.last.function = nullptr;
    state_.page_limit = 0;
  }
  State(const State&) = delete;

  Status propose(std::span<TextToPropose> texts) {
    const Status done = run(texts);
    if (!done) forget_all();
    return done;
  }

  void forget(uint64_t id) {
    state_.last.function = nullptr;
    texts_.erase(id);
  }

  int64_t pages() const { return pages_; }
  int64_t used_pages() const { return state_.rows.pages.pages() - state_.rows.pages.free_pages(); }

 private:
  // A text that is being proposed for.
  struct Drafted {
    Drafted(TextToPropose& asked, Sequence& in_cache, int64_t most, int64_t draft_vocabulary)
        : text(&asked),
          sequence(&in_cache),
          count(most),
          tokens(asked.tokens.begin(), asked.tokens.end()),
          rules(*asked.rules),
          generator(copy_of(*asked.generator)) {
      rules.bias.erase(rules.bias.lower_bound(static_cast<int32_t>(draft_vocabulary)),
                       rules.bias.end());
    }
    int64_t unread() const { return std::ssize(tokens) - sequence->length; }
    bool is_done() const { return has_ended || std::ssize(text->proposed) >= count; }

    TextToPropose* text;
    Sequence* sequence;
    int64_t count;
    std::vector<int32_t> tokens;  // with the proposed ones
    LogitRules rules;             // for the tokens that the draft model has
    HostTensor generator;
    bool has_ended = false;  // nothing can be proposed after its last token
  };

  Status run(std::span<TextToPropose> texts) {
    std::vector<Drafted> drafted;
    drafted.reserve(texts.size());
    bool may_read_piece = true;
    for (TextToPropose& text : texts) {
      TAPML_ASSIGN(std::optional<Drafted> one, begin(text, may_read_piece));
      if (one) drafted.push_back(std::move(*one));
    }
    for (;;) {
      // One call for the texts that have the same number of unread tokens.
      std::map<int64_t, std::vector<Drafted*>> by_unread;
      for (Drafted& one : drafted) {
        if (one.is_done()) continue;
        std::vector<Drafted*>& group = by_unread[takes_one_ ? std::ssize(by_unread) : one.unread()];
        group.push_back(&one);
      }
      if (by_unread.empty()) return {};
      for (const auto& [ignored, group] : by_unread) TAPML_TRY(append(group));
    }
  }

  // Prepares the cache for a text. Nothing: no tokens are proposed for it. At most one text reads a
  // piece of a longer rest, so that a long prompt delays the others by one piece only.
  Result<std::optional<Drafted>> begin(TextToPropose& text, bool& may_read_piece) {
    const int64_t size = std::ssize(text.tokens);
    // All but the last of the proposed tokens are read, too.
    const int64_t count = std::min(text.count, longest_ - size + 1);
    if (count < 1) return std::nullopt;
    std::unique_ptr<Sequence>& kept = texts_[text.id];
    if (!kept) kept = std::make_unique<Sequence>(state_.rows);
    Sequence& sequence = *kept;
    const auto before_last = text.tokens.first(text.tokens.size() - 1);
    const int64_t common =
        std::ranges::mismatch(sequence.tokens, before_last).in1 - sequence.tokens.begin();
    if (common < sequence.length) {
      state_.last.function = nullptr;
      sequence.rewind(common);
    }
    const auto unread = text.tokens.subspan(static_cast<size_t>(sequence.length));
    const auto is_known = [&](int32_t token) { return token < state_.model.vocabulary; };
    if (!std::ranges::all_of(unread, is_known)) return std::nullopt;
    if (std::ssize(unread) > text.count + 1) {
      if (!std::exchange(may_read_piece, false)) return std::nullopt;
      TAPML_ASSIGN(const bool has_read, read_piece(sequence, unread.first(unread.size() - 1)));
      if (!has_read || size - sequence.length > text.count + 1) return std::nullopt;
    }
    TAPML_ASSIGN(const bool has_room, make_room(sequence, size - sequence.length + count - 1));
    if (!has_room) return std::nullopt;
    return std::optional<Drafted>(std::in_place, text, sequence, count, state_.model.vocabulary);
  }

  // Reads a piece of the tokens; false: the cache has no room for it.
  Result<bool> read_piece(Sequence& sequence, std::span<const int32_t> tokens) {
    Sequence* const one = &sequence;
    TAPML_ASSIGN(
        const int64_t count,
        state_.piece_of({&one, 1}, std::min<int64_t>(std::ssize(tokens), options_.prompt_piece)));
    TAPML_ASSIGN(const bool has_room, make_room(sequence, count));
    if (!has_room) return false;
    state_.plan({&one, 1}, count);
    TAPML_ASSIGN([[maybe_unused]] const Tensor ignored,
                 state_.step("prefill", {&one, 1}, tokens.first(static_cast<size_t>(count)),
                             /*read=*/false));
    return true;
  }

  // Takes the pages for `count` more tokens of a text; false: there are too few. If the device's
  // memory does not hold the cache that the options allow, it stays as large as it is.
  Result<bool> make_room(Sequence& sequence, int64_t count) {
    const int64_t unused = state_.fragmented ? 1 : 0;
    const int64_t more =
        state_.pages_for(sequence.length + count) - std::ssize(sequence.pages.table());
    if (used_pages() + more + unused > pages_) return false;
    Sequence* const one = &sequence;
    const Status reserved = state_.reserve_pages({&one, 1}, count);
    if (reserved) return true;
    if (reserved.error().fault != PlatformFault::kOutOfMemory) return fail(reserved.error());
    pages_ = state_.rows.pages.pages();
    state_.page_limit = pages_;
    return false;
  }

  // Reads what each text has not read, as much for each; chooses the next token of each.
  Status append(const std::vector<Drafted*>& group) {
    std::vector<Sequence*> sequences;
    std::vector<int32_t> tokens;
    const int64_t count = group.front()->unread();
    for (const Drafted* one : group) {
      sequences.push_back(one->sequence);
      tokens.insert(tokens.end(), one->tokens.end() - count, one->tokens.end());
    }
    state_.plan(sequences, count);
    TAPML_ASSIGN(const Tensor logits,
                 state_.step(count == 1 ? "decode" : "prefill", sequences, tokens));
    std::vector<RowToChoose> rows;
    for (Drafted* one : group) {
      rows.push_back({.sampler = one->text->sampler,
                      .rules = &one->rules,
                      .tokens = one->tokens,
                      .prompt = one->text->prompt,
                      .generator = &one->generator,
                      .chosen = {}});
    }
    TAPML_TRY(choose_tokens(state_, logits, rows));
    for (size_t i = 0; i < group.size(); ++i) {
      Drafted& one = *group[i];
      // The model's vocabulary may be smaller, and logits may be no numbers.
      one.has_ended = !rows[i].chosen || rows[i].chosen->token >= vocabulary_;
      if (one.has_ended) continue;
      one.tokens.push_back(rows[i].chosen->token);
      one.text->proposed.push_back(rows[i].chosen->token);
    }
    return {};
  }

  void forget_all() {
    state_.last.function = nullptr;
    texts_.clear();
  }

  Engine::State& state_;
  const int64_t vocabulary_;  // of the model that checks
  const BatchDraftOptions options_;
  int64_t pages_ = 0;    // most
  int64_t longest_ = 0;  // tokens of a text
  bool takes_one_ = false;
  std::map<uint64_t, std::unique_ptr<Sequence>> texts_;
};

BatchDraft::BatchDraft(std::unique_ptr<State> state) : state_(std::move(state)) {}
BatchDraft::~BatchDraft() = default;

Result<std::unique_ptr<BatchProposer>> BatchDraft::create(Engine& draft,
                                                          const ModelInterface& model,
                                                          const BatchDraftOptions& options) {
  TAPML_TRY(check_draft(draft));
  if (options.cached_tokens < 1 || options.prompt_piece < 1) {
    return fail(user_error("an option of the draft model is out of range", "draft options",
                           "a cache and a piece of at least one token",
                           "a cache of " + std::to_string(options.cached_tokens) +
                               " tokens, a piece of " + std::to_string(options.prompt_piece)));
  }
  return std::unique_ptr<BatchProposer>(
      new BatchDraft(std::make_unique<State>(draft, *draft.state_, model, options)));
}

Status BatchDraft::propose(std::span<TextToPropose> texts) { return state_->propose(texts); }
void BatchDraft::forget(uint64_t id) { state_->forget(id); }
int64_t BatchDraft::pages() const { return state_->pages(); }
int64_t BatchDraft::used_pages() const { return state_->used_pages(); }

}  // namespace tapml::llm
