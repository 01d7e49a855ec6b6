// Texts of different lengths in one call, whose state is made and not computed.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "llm/engine_state.h"
#include "llm/made_logits.h"

namespace tapml::llm {

using runtime::Tensor;

namespace {

constexpr int64_t kNewTokens = 3;  // of each text in `prefill`
constexpr int64_t kLongPages = 9;  // distinct pages of the long text
constexpr int64_t kRowsApart = 5;  // between the first rows of two texts

}  // namespace

// One call of run_mixed_batch().
class Engine::MixedBatch {
 public:
  MixedBatch(State& state, int64_t longest)
      : state_(state), longest_(std::min(longest, state.longest_text)), base_(state.own.length) {}
  // The sequences of the last call are gone.
  ~MixedBatch() {
    state_.last.function = nullptr;
    state_.own.clear();
    if (embeddings_) state_.embeddings = std::move(*embeddings_);
  }
  MixedBatch(const MixedBatch&) = delete;

  Status run() {
    TAPML_TRY(make_texts());
    if (!batch_.empty()) {
      TAPML_ASSIGN([[maybe_unused]] const Tensor ignored,
                   state_.step("prefill", batch_, tokens(kNewTokens)));
    }
    TAPML_TRY(make_long_text());
    if (batch_.empty()) return {};
    // Embeddings take the place of tokens in prompts only.
    embeddings_ = std::exchange(state_.embeddings, {});
    TAPML_ASSIGN(const Tensor logits, state_.step("decode", batch_, tokens(1)));
    TAPML_TRY(choose(logits));
    TAPML_ASSIGN(const Tensor made,
                 runtime::upload(state_.session, made_logits(state_.model.vocabulary)));
    TAPML_TRY(choose(made));
    return state_.session.synchronize(runtime::kDefaultStream);
  }

 private:
  int64_t page_size() const { return state_.model.page_size; }
  bool fits(int64_t past) const { return past > 0 && past + kNewTokens + 1 <= state_.longest_text; }

  Status make_texts() {
    for (const int64_t past : {2 * page_size(), page_size() - 1}) {
      if (fits(past)) TAPML_TRY(add_text(past, past));
    }
    if (fits(base_)) batch_.insert(batch_.begin(), &state_.own);
    return {};
  }

  Status make_long_text() {
    const int64_t past = longest_ - 1;
    for (const Sequence* text : batch_) {
      if (text->length >= past) return {};
    }
    return past > 0 ? add_text(past, std::min(past, kLongPages * page_size() - 1)) : Status{};
  }

  // A text of `past` tokens, of which the last `own` rows, or a little less, are its own.
  Status add_text(int64_t past, int64_t own) {
    Sequence& text = *made_.emplace_back(std::make_unique<Sequence>(state_.rows));
    Sequence* const one = &text;
    if (state_.model.has_state(StateKind::kPaged)) {
      const int64_t pages = state_.pages_for(past + 1);
      const int64_t own_pages = std::min(pages, state_.pages_for(own + 1));
      TAPML_TRY(state_.reserve_pages({&one, 1}, own_pages * page_size()));
      if (pages > own_pages) text.pages.repeat_before(pages - own_pages);
      TAPML_TRY(fill_rows(text, past));
    }
    TAPML_TRY(state_.reserve_slots({&one, 1}));
    if (text.slot >= 0 && state_.own.slot >= 0) {
      TAPML_TRY(state_.state.copy_slot(state_.own.slot, text.slot));
    }
    text.length = past;
    batch_.push_back(one);
    return {};
  }

  // Fills the rows of its own pages before row `past` with those of the current text, which repeat,
  // and begin at another one for each text.
  Status fill_rows(const Sequence& text, int64_t past) {
    const int64_t first = std::min(state_.own.pages.first_kept(), base_ - 1);
    const int64_t rows = base_ - first;
    int64_t from = (std::ssize(made_) * kRowsApart) % rows;
    for (int64_t to = text.pages.first_kept(); to < past;) {
      const int64_t source = first + from;
      const int64_t count =
          std::min({past - to, rows - from, left_in_page(source), left_in_page(to)});
      TAPML_TRY(state_.state.copy_rows(row_of(state_.own, source), row_of(text, to), count));
      to += count;
      from = (from + count) % rows;
    }
    return {};
  }
  int64_t left_in_page(int64_t position) const { return page_size() - position % page_size(); }
  int64_t row_of(const Sequence& text, int64_t position) const {
    const auto page = static_cast<size_t>(position / page_size());
    return text.pages.table()[page] * page_size() + position % page_size();
  }

  // The next `count` tokens of each text.
  std::vector<int32_t> tokens(int64_t count) {
    const auto last = static_cast<int32_t>(state_.model.vocabulary - 1);
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < count * std::ssize(batch_); ++i) {
      // The ends of the vocabulary are in other texts in each call.
      const int64_t turn = taken_++ % 5;
      tokens.push_back(turn == 1   ? 0
                       : turn == 3 ? last
                                   : known_[static_cast<size_t>(taken_) % known_.size()]);
    }
    return tokens;
  }

  // By the function that generation calls, if it is the model's.
  Status choose(const Tensor& logits) {
    if (state_.sampler.temperature == 0) {
      TAPML_ASSIGN([[maybe_unused]] const HostTensor likely, state_.most_likely(logits));
      return {};
    }
    if (!state_.draws()) return {};
    const int64_t rows = logits.shape[0];
    HostTensor generators = HostTensor::zeros(DType::kI64, {rows, 2});
    for (int64_t row = 0; row < rows; ++row) {
      generators.mutable_values<int64_t>()[static_cast<size_t>(2 * row)] = row;
    }
    TAPML_ASSIGN(Tensor parameters,
                 runtime::upload(state_.session, draw_parameters(state_.sampler, rows)));
    TAPML_ASSIGN(Tensor advancing, runtime::upload(state_.session, generators));
    TAPML_ASSIGN([[maybe_unused]] const HostTensor drawn,
                 state_.draw(logits, std::move(parameters), advancing));
    return {};
  }

  State& state_;
  int64_t longest_;  // tokens of the long text
  int64_t base_;     // tokens of the current text at the start
  std::vector<int32_t> known_ = state_.own.tokens;
  int64_t taken_ = 0;
  std::vector<std::unique_ptr<Sequence>> made_;
  std::vector<Sequence*> batch_;
  std::optional<PlacedEmbeddings> embeddings_;  // of the engine, while it has none
};

Status Engine::run_mixed_batch(int64_t longest) {
  Sequence* own = &state_->own;
  TAPML_TRY(state_->read_unread({&own, 1}));
  if (own->length == 0) {
    return fail(user_error("there is no text to make others from", "run_mixed_batch",
                           "a current text of at least one token", "none"));
  }
  const auto tokens =
      InputOfText::find(vm().executable(), state_->function("decode"), Role::kTokens);
  if (tokens && tokens->constant_texts()) {
    reset();
    return {};
  }
  return MixedBatch(*state_, longest).run();
}

}  // namespace tapml::llm
