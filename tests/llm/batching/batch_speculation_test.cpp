// A batch with proposed tokens gives each text the tokens that it has without them.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/rng.h"
#include "llm/batching/batch_draft.h"
#include "llm/batching/batch_lookup.h"
#include "llm/batching/batch_pace.h"
#include "llm/batching/continuous_batch.h"
#include "support/compiled_models.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using llm::BatchProposer;
using llm::ContinuousBatch;
using llm::StopReason;
using llm::TextEnd;
using llm::TextRequest;
using llm::TextToPropose;
using testing::CompiledModel;
using Tokens = std::vector<int32_t>;

constexpr llm::SpeculationOptions kKeep{.tokens = 4, .keep = true};

// What a text became.
struct Became {
  Tokens tokens;
  std::vector<llm::TokenProbabilities> probabilities;
  std::optional<Result<TextEnd>> end;
};

// Knows how texts go on, and is wrong about each token whose place is a multiple of `wrong`.
class Prophet final : public BatchProposer {
 public:
  explicit Prophet(std::vector<Tokens> texts, size_t wrong = 0)
      : texts_(std::move(texts)), wrong_(wrong) {}

  Status propose(std::span<TextToPropose> asked) override {
    most_ = std::max<int64_t>(most_, std::ssize(asked));
    for (TextToPropose& text : asked) {
      for (const Tokens& whole : texts_) {
        if (whole.size() < text.tokens.size() ||
            !std::ranges::equal(text.tokens, std::span(whole).first(text.tokens.size()))) {
          continue;
        }
        for (size_t at = text.tokens.size();
             at < whole.size() && std::ssize(text.proposed) < text.count; ++at) {
          const bool is_wrong = wrong_ > 0 && at % wrong_ == 0;
          text.proposed.push_back(is_wrong ? (whole[at] + 1) % 32 : whole[at]);
        }
        break;
      }
    }
    return {};
  }
  void forget(uint64_t id) override { forgotten_.insert(id); }
  const std::set<uint64_t>& forgotten() const { return forgotten_; }
  int64_t most() const { return most_; }  // texts at once

 private:
  std::vector<Tokens> texts_;
  size_t wrong_;
  std::set<uint64_t> forgotten_;
  int64_t most_ = 0;
};

class BatchSpeculationTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    model_ = testing::compiled_model("cpu", GetParam());
    vocabulary_ = static_cast<uint32_t>(model_->executable->model.vocabulary);
  }

  Tokens prompt(uint64_t seed, int64_t count) const {
    RandomStream random(philox_key(seed, "prompt"));
    Tokens tokens;
    for (int64_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<int32_t>(random.below(vocabulary_)));
    }
    return tokens;
  }

  static TextRequest request(Tokens prompt, int64_t max_tokens,
                             const llm::SamplerOptions& sampler = {}) {
    TextRequest made;
    made.prompt = std::move(prompt);
    made.max_tokens = max_tokens;
    made.sampler = sampler;
    return made;
  }

  static ContinuousBatch::TextId add(ContinuousBatch& batch, TextRequest request, Became& outcome) {
    const auto chosen = request.on_token;
    request.on_token = [&outcome, chosen](const llm::ChosenToken& token) {
      EXPECT_FALSE(outcome.end) << "no token comes after the end";
      if (!token.is_end) outcome.tokens.push_back(token.token);
      if (token.probabilities) outcome.probabilities.push_back(*token.probabilities);
      return !chosen || chosen(token);
    };
    request.on_end = [&outcome](const Result<TextEnd>& end) {
      EXPECT_FALSE(outcome.end) << "a text ends once";
      outcome.end.emplace(end);
    };
    return unwrap(batch.submit(std::move(request)));
  }

  std::vector<Became> run(const std::vector<TextRequest>& requests, llm::BatchOptions options,
                          ContinuousBatch::Counts* counts = nullptr, int64_t capacity = 128) {
    auto engine = model_->engine({.capacity = capacity, .first_capacity = 16, .fragmented = true});
    auto batch = unwrap(ContinuousBatch::create(*engine, options));
    std::vector<Became> outcomes(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) add(*batch, requests[i], outcomes[i]);
    while (unwrap(batch->step())) {
      const auto now = batch->counts();
      EXPECT_LE(now.used_pages, now.pages);
    }
    EXPECT_EQ(batch->counts().used_pages, 0);
    if (counts) *counts = batch->counts();
    return outcomes;
  }

  // The requests of every kind, which all end.
  std::vector<TextRequest> requests() const {
    std::vector<TextRequest> made = {
        request(prompt(1, 3), 24),
        request(prompt(2, 17), 20, {.temperature = 0.8, .top_p = 0.9, .seed = 5}),
        request(prompt(3, 1), 30),
        request(prompt(4, 9), 17, {.temperature = 1.5, .top_k = 20, .seed = 6}),
        request(prompt(5, 23), 1),
        request(prompt(1, 3), 24)};
    TextRequest ruled = request(prompt(6, 5), 24, {.temperature = 0.7, .seed = 8});
    ruled.rules.frequency_penalty = 0.5;
    ruled.rules.repetition_penalty = 1.2;
    ruled.rules.bias[3] = 1.5;
    ruled.top_probabilities = 2;
    made.push_back(ruled);
    TextRequest constrained = request(prompt(7, 5), 20);
    constrained.constrain = [](std::span<float> logits) {
      for (size_t i = 0; i < logits.size(); i += 2) {
        logits[i] = -std::numeric_limits<float>::infinity();
      }
    };
    made.push_back(constrained);
    return made;
  }

  static void expect_same(const std::vector<Became>& a, const std::vector<Became>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].tokens, b[i].tokens) << "text " << i;
      ASSERT_TRUE(a[i].end && *a[i].end && b[i].end && *b[i].end) << "text " << i;
      EXPECT_EQ((*a[i].end)->reason, (*b[i].end)->reason) << "text " << i;
      EXPECT_EQ((*a[i].end)->tokens, (*b[i].end)->tokens) << "text " << i;
      ASSERT_EQ(a[i].probabilities.size(), b[i].probabilities.size()) << "text " << i;
      for (size_t j = 0; j < a[i].probabilities.size(); ++j) {
        EXPECT_NEAR(a[i].probabilities[j].chosen, b[i].probabilities[j].chosen, 1e-3);
      }
    }
  }

  static std::vector<Tokens> whole(const std::vector<TextRequest>& requests,
                                   const std::vector<Became>& outcomes) {
    std::vector<Tokens> texts;
    for (size_t i = 0; i < requests.size(); ++i) {
      Tokens text = requests[i].prompt;
      text.insert(text.end(), outcomes[i].tokens.begin(), outcomes[i].tokens.end());
      texts.push_back(std::move(text));
    }
    return texts;
  }

  const CompiledModel* model_ = nullptr;
  uint32_t vocabulary_ = 0;
};

TEST_P(BatchSpeculationTest, TextsAreTheSameWithAnyProposals) {
  const auto plain = run(requests(), {.texts = 5, .prompt_piece = 5});
  for (const size_t wrong : {0, 1, 2, 5}) {
    SCOPED_TRACE(wrong);
    Prophet prophet(whole(requests(), plain), wrong);
    ContinuousBatch::Counts counts;
    const auto outcomes =
        run(requests(), {.texts = 5, .prompt_piece = 5, .proposer = &prophet, .propose = kKeep},
            &counts);
    expect_same(plain, outcomes);
    EXPECT_GE(prophet.most(), 3) << "one call checks several texts";
    EXPECT_EQ(prophet.forgotten().size(), requests().size());
    EXPECT_GT(counts.verify_steps, 0);
    EXPECT_EQ(counts.accepted_tokens == counts.proposed_tokens, wrong == 0);
    EXPECT_EQ(counts.accepted_tokens == 0, wrong == 1);
  }
}

TEST_P(BatchSpeculationTest, ADraftModelAndLookupProposeForEachText) {
  const auto plain = run(requests(), {.texts = 5, .prompt_piece = 5});
  if (model_->executable->model.paged_window() == 0) {
    // The model itself: what it draws with the same random numbers is accepted.
    auto draft = model_->engine({.first_capacity = 16});
    auto proposer = unwrap(llm::BatchDraft::create(*draft, model_->executable->model,
                                                   {.cached_tokens = 1024, .prompt_piece = 5}));
    ContinuousBatch::Counts counts;
    expect_same(plain,
                run(requests(),
                    {.texts = 5, .prompt_piece = 5, .proposer = proposer.get(), .propose = kKeep},
                    &counts));
    EXPECT_GT(counts.accepted_tokens, counts.proposed_tokens / 2);
    EXPECT_EQ(counts.used_draft_pages, 0);
    EXPECT_EQ(counts.draft_pages, 1024 / model_->executable->model.page_size);

    // A cache for one text or two.
    auto small = unwrap(llm::BatchDraft::create(*draft, model_->executable->model,
                                                {.cached_tokens = 48, .prompt_piece = 5}));
    expect_same(plain,
                run(requests(), {.texts = 5, .proposer = small.get(), .propose = kKeep}, &counts));
    EXPECT_GT(counts.accepted_tokens, 0);
    EXPECT_EQ(counts.used_draft_pages, 0);
  }
  auto lookup = unwrap(llm::BatchLookup::create(1));
  ContinuousBatch::Counts counts;
  expect_same(plain,
              run(requests(), {.texts = 5, .proposer = lookup.get(), .propose = kKeep}, &counts));
  EXPECT_GT(counts.proposed_tokens, 0);
}

TEST_P(BatchSpeculationTest, TextsThatWaitForPagesAndFillTheContextAreTheSame) {
  const int64_t page = model_->executable->model.page_size;
  const std::vector<TextRequest> asked = {
      request(prompt(1, page - 1), 2 * page),
      request(prompt(2, page - 2), 2 * page, {.temperature = 1, .seed = 3}),
      request(prompt(3, page - 3), 2 * page), request(prompt(4, page), 9 * page)};
  const llm::BatchOptions options{.texts = 4, .cached_tokens = 6 * page, .prompt_piece = page};
  const auto plain = run(asked, options, nullptr, 4 * page);
  EXPECT_EQ(plain[3].end->value().reason, StopReason::kContextFull);
  Prophet prophet(whole(asked, plain), 7);
  llm::BatchOptions speculative = options;
  speculative.proposer = &prophet;
  speculative.propose = kKeep;
  ContinuousBatch::Counts counts;
  expect_same(plain, run(asked, speculative, &counts, 4 * page));
  EXPECT_GT(counts.preemptions, 0);
  EXPECT_GT(counts.accepted_tokens, 0);
}

TEST_P(BatchSpeculationTest, ATextEndsAmongAcceptedTokensAndItsPagesStayRight) {
  const int64_t page = model_->executable->model.page_size;
  const Tokens begin = prompt(1, page - 1);
  const auto plain = run({request(begin, 3 * page)}, {});
  Prophet prophet(whole({request(begin, 3 * page)}, plain));
  auto engine = model_->engine({.capacity = 8 * page, .fragmented = true});
  auto batch = unwrap(
      ContinuousBatch::create(*engine, {.texts = 4, .proposer = &prophet, .propose = kKeep}));
  // Ends at each place of a verify step, by its caller and by an end token.
  for (int64_t most = 1; most <= page + 2; ++most) {
    TextRequest stopped = request(begin, 3 * page);
    int64_t seen = 0;
    stopped.on_token = [&](const llm::ChosenToken&) { return ++seen < most; };
    TextRequest eos = request(begin, 3 * page);
    const int32_t end_token = plain[0].tokens[static_cast<size_t>(most)];
    eos.eos = {end_token};
    Became by_caller, by_eos, cancelled;
    add(*batch, stopped, by_caller);
    add(*batch, eos, by_eos);
    const auto gone = add(*batch, request(begin, 3 * page), cancelled);
    for (int step = 0; step < 4; ++step) unwrap(batch->step());
    batch->cancel(gone);
    while (unwrap(batch->step())) {
    }
    EXPECT_EQ(by_caller.end->value().reason, StopReason::kCaller);
    EXPECT_TRUE(std::ranges::equal(by_caller.tokens,
                                   std::span(plain[0].tokens).first(static_cast<size_t>(most))));
    EXPECT_EQ(by_eos.end->value().reason, StopReason::kEos);
    EXPECT_EQ(by_eos.tokens,
              Tokens(plain[0].tokens.begin(), std::ranges::find(plain[0].tokens, end_token)));
    EXPECT_EQ(batch->counts().used_pages, 0);
  }
  // A text that takes the pages of the others, where pages are shared.
  Became again;
  add(*batch, request(whole({request(begin, 0)}, plain)[0], 1), again);
  Tokens continued = begin;
  continued.insert(continued.end(), plain[0].tokens.begin(), plain[0].tokens.begin() + page);
  Became after;
  add(*batch, request(continued, page), after);
  while (unwrap(batch->step())) {
  }
  EXPECT_TRUE(std::ranges::equal(
      after.tokens,
      std::span(plain[0].tokens).subspan(static_cast<size_t>(page), static_cast<size_t>(page))));
  EXPECT_EQ((*after.end)->shared_tokens > 0, batch->shares_prefixes());
}

INSTANTIATE_TEST_SUITE_P(Models, BatchSpeculationTest,
                         ::testing::Values("llama3_gqa", "ministral_window", "phi3_longrope"),
                         [](const auto& info) { return std::string(info.param); });

TEST(BatchSpeculation, ModelsThatCannotForgetAreRefused) {
  const CompiledModel* model = testing::compiled_model("cpu", "mamba2");
  auto engine = model->engine();
  auto lookup = unwrap(llm::BatchLookup::create(3));
  testing::expect_user_error(
      [&] { unwrap(ContinuousBatch::create(*engine, {.proposer = lookup.get()})); },
      {"recurrent state"});
  testing::expect_user_error(
      [&] {
        unwrap(llm::BatchDraft::create(*engine, model->executable->model, {.cached_tokens = 64}));
      },
      {"recurrent state"});
  const CompiledModel* llama = testing::compiled_model("cpu", "llama3_gqa");
  auto other = llama->engine();
  testing::expect_user_error(
      [&] {
        unwrap(
            ContinuousBatch::create(*other, {.proposer = lookup.get(), .propose = {.tokens = 65}}));
      },
      {"number of tokens to propose", "1 to 64", "65"});
  testing::expect_user_error([] { unwrap(llm::BatchLookup::create(0)); }, {"look up"});
}

TEST(BatchPace, EachNumberOfTextsIsMeasuredAndASlowOneRests) {
  llm::BatchPace pace(false);
  EXPECT_FALSE(pace.proposes(2)) << "plain steps are measured first";
  for (int i = 0; i < llm::Pace::kPlainSteps; ++i) pace.plain(2, 0.2);
  EXPECT_TRUE(pace.proposes(2));
  EXPECT_FALSE(pace.proposes(1));
  // 10 tokens a second without proposals, and 8 with them.
  const int64_t steps = llm::Pace::kWindow + llm::Pace::kWarmUp;
  for (int64_t i = 0; i < steps; ++i) pace.verified(2, 0.5, 4);
  EXPECT_EQ(pace.stops(), 1);
  EXPECT_FALSE(pace.proposes(2));
  for (int64_t i = 0; i < llm::BatchPace::kRest + llm::Pace::kPlainSteps; ++i) pace.plain(2, 0.2);
  EXPECT_TRUE(pace.proposes(2)) << "it measures again";
  for (int64_t i = 0; i < steps; ++i) pace.verified(2, 0.5, 8);
  EXPECT_TRUE(pace.proposes(2));
  EXPECT_EQ(pace.stops(), 1);
  EXPECT_TRUE(llm::BatchPace(true).proposes(3));
}

}  // namespace
}  // namespace tapml
