// Texts that come and go in one batch: each is the same as alone.
#include "llm/batching/continuous_batch.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/rng.h"
#include "support/compiled_models.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using llm::ContinuousBatch;
using llm::StopReason;
using llm::TextEnd;
using llm::TextRequest;
using testing::CompiledModel;

// What a text became.
struct Outcome {
  std::vector<int32_t> tokens;
  std::optional<Result<TextEnd>> end;
};

class ContinuousBatchTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    model_ = testing::compiled_model(GetParam(), "llama3_gqa");
    if (!model_) GTEST_SKIP() << GetParam() << " is absent";
    vocabulary_ = static_cast<uint32_t>(model_->executable->model.vocabulary);
  }

  std::vector<int32_t> prompt(uint64_t seed, int64_t count) const {
    RandomStream random(philox_key(seed, "prompt"));
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<int32_t>(random.below(vocabulary_)));
    }
    return tokens;
  }

  static TextRequest request(std::vector<int32_t> prompt, int64_t max_tokens,
                             const llm::SamplerOptions& sampler = {}) {
    TextRequest made;
    made.prompt = std::move(prompt);
    made.max_tokens = max_tokens;
    made.sampler = sampler;
    return made;
  }

  // Submits a request whose outcome is kept.
  static ContinuousBatch::TextId add(ContinuousBatch& batch, TextRequest request,
                                     Outcome& outcome) {
    const auto chosen = request.on_token;
    request.on_token = [&outcome, chosen](const llm::ChosenToken& token) {
      if (!token.is_end) outcome.tokens.push_back(token.token);
      return !chosen || chosen(token);
    };
    request.on_end = [&outcome](const Result<TextEnd>& end) {
      EXPECT_FALSE(outcome.end) << "a text ends once";
      outcome.end.emplace(end);
    };
    return unwrap(batch.submit(std::move(request)));
  }

  static void run(ContinuousBatch& batch) {
    while (unwrap(batch.step())) {
    }
  }

  std::vector<int32_t> alone(const TextRequest& request) const {
    auto engine = model_->engine();
    const auto made = engine->generate(
        request.prompt,
        {.max_tokens = request.max_tokens, .eos = request.eos, .sampler = request.sampler});
    return unwrap(made).tokens;
  }

  const CompiledModel* model_ = nullptr;
  uint32_t vocabulary_ = 0;
};

TEST_P(ContinuousBatchTest, TextsThatComeAndGoAreTheSameAsAlone) {
  auto engine = model_->engine({.capacity = 64, .first_capacity = 16});
  auto batch = unwrap(ContinuousBatch::create(*engine, {.texts = 3, .prompt_piece = 5}));
  const std::vector<TextRequest> requests = {
      request(prompt(1, 3), 9),
      request(prompt(2, 17), 4, {.temperature = 0.8, .top_p = 0.9, .seed = 5}),
      request(prompt(3, 1), 12),
      request(prompt(4, 9), 7, {.temperature = 1.5, .top_k = 20, .seed = 6}),
      request(prompt(5, 23), 5)};
  std::vector<Outcome> outcomes(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    add(*batch, requests[i], outcomes[i]);
    for (int step = 0; step < 2; ++step) ASSERT_TRUE(unwrap(batch->step()));
  }
  run(*batch);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(outcomes[i].end && *outcomes[i].end) << "text " << i;
    EXPECT_EQ((*outcomes[i].end)->reason, StopReason::kMaxTokens);
    EXPECT_EQ((*outcomes[i].end)->tokens, requests[i].max_tokens);
    EXPECT_EQ(outcomes[i].tokens, alone(requests[i])) << "text " << i;
  }
  const auto counts = batch->counts();
  EXPECT_EQ(counts.ended, 5);
  EXPECT_EQ(counts.waiting + counts.running + counts.used_pages, 0);
  EXPECT_EQ(counts.generated_tokens, 9 + 4 + 12 + 7 + 5);
  EXPECT_EQ(counts.prompt_tokens, 3 + 17 + 1 + 9 + 23);
}

TEST_P(ContinuousBatchTest, TextsShareTheBeginningThatTheyHaveInCommon) {
  auto engine = model_->engine({.capacity = 64, .fragmented = true});
  auto batch = unwrap(ContinuousBatch::create(*engine));
  ASSERT_TRUE(batch->shares_prefixes());
  const int64_t page = model_->executable->model.page_size;
  std::vector<int32_t> first = prompt(1, 2 * page + 3), second = first;
  second.back() = static_cast<int32_t>((second.back() + 1) % static_cast<int32_t>(vocabulary_));
  Outcome a, b, c;
  add(*batch, request(first, 6), a);
  add(*batch, request(second, 6), b);
  add(*batch, request(first, 6), c);
  run(*batch);
  EXPECT_EQ((*a.end)->shared_tokens, 0);
  EXPECT_EQ((*b.end)->shared_tokens, 2 * page);
  EXPECT_EQ((*c.end)->shared_tokens, 2 * page);
  EXPECT_EQ(a.tokens, alone(request(first, 6)));
  EXPECT_EQ(b.tokens, alone(request(second, 6)));
  EXPECT_EQ(c.tokens, a.tokens);

  // A longer text continues one that ended, its answer included; one token is always read.
  std::vector<int32_t> continued = first;
  continued.insert(continued.end(), a.tokens.begin(), a.tokens.end());
  continued.resize(static_cast<size_t>(2 * page));
  Outcome d;
  add(*batch, request(continued, 4), d);
  run(*batch);
  EXPECT_EQ((*d.end)->shared_tokens, page);
  EXPECT_EQ(d.tokens, alone(request(continued, 4)));

  auto apart = unwrap(ContinuousBatch::create(*engine, {.share_prefixes = false}));
  EXPECT_FALSE(apart->shares_prefixes());
  Outcome e, f;
  add(*apart, request(first, 6), e);
  add(*apart, request(first, 6), f);
  run(*apart);
  EXPECT_EQ((*f.end)->shared_tokens, 0);
  EXPECT_EQ(f.tokens, a.tokens);
  EXPECT_EQ(apart->counts().cached_pages, 0);
}

TEST_P(ContinuousBatchTest, TextsThatWaitForPagesAreTheSameAsAlone) {
  const int64_t page = model_->executable->model.page_size;
  auto engine = model_->engine({.capacity = 4 * page, .first_capacity = page});
  auto batch = unwrap(ContinuousBatch::create(
      *engine, {.texts = 4, .cached_tokens = 5 * page, .prompt_piece = page}));
  const std::vector<TextRequest> requests = {
      request(prompt(1, page - 1), 2 * page),
      request(prompt(2, page - 2), 2 * page, {.temperature = 1, .seed = 3}),
      request(prompt(3, page - 3), 2 * page), request(prompt(4, page), 3 * page - 1)};
  std::vector<Outcome> outcomes(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) add(*batch, requests[i], outcomes[i]);
  int64_t most = 0;
  while (unwrap(batch->step())) {
    const auto counts = batch->counts();
    most = std::max(most, counts.running);
    EXPECT_LE(counts.used_pages, counts.pages);
  }
  EXPECT_GE(most, 2);
  EXPECT_GE(batch->counts().preemptions, 1);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(outcomes[i].end && *outcomes[i].end) << "text " << i;
    EXPECT_EQ(outcomes[i].tokens, alone(requests[i])) << "text " << i;
  }
}

TEST_P(ContinuousBatchTest, EachTextEndsForItsOwnReason) {
  auto engine = model_->engine({.capacity = 32});
  auto batch = unwrap(ContinuousBatch::create(*engine));
  const std::vector<int32_t> tokens = alone(request(prompt(1, 4), 6));
  TextRequest eos = request(prompt(1, 4), 6);
  eos.eos = {tokens[3]};
  TextRequest stopped = request(prompt(1, 4), 6);
  int64_t seen = 0;
  stopped.on_token = [&](const llm::ChosenToken&) { return ++seen < 2; };
  Outcome by_eos, by_caller, by_context, cancelled;
  add(*batch, eos, by_eos);
  add(*batch, stopped, by_caller);
  add(*batch, request(prompt(2, 30), 10), by_context);
  const auto id = add(*batch, request(prompt(3, 4), 20), cancelled);
  for (int step = 0; step < 6; ++step) ASSERT_TRUE(unwrap(batch->step()));
  batch->cancel(id);
  batch->cancel(id);
  run(*batch);
  EXPECT_EQ((*by_eos.end)->reason, StopReason::kEos);
  EXPECT_EQ(by_eos.tokens, (std::vector(tokens.begin(), std::ranges::find(tokens, tokens[3]))));
  EXPECT_EQ((*by_caller.end)->reason, StopReason::kCaller);
  EXPECT_EQ(by_caller.tokens.size(), 2u);
  EXPECT_EQ((*by_context.end)->reason, StopReason::kContextFull);
  EXPECT_EQ(by_context.tokens.size(), 3u);
  EXPECT_FALSE(cancelled.end);
  EXPECT_EQ(batch->counts().used_pages, 0);
}

TEST_P(ContinuousBatchTest, RulesForLogitsAreEachTextsOwn) {
  auto engine = model_->engine({.capacity = 64});
  auto batch = unwrap(ContinuousBatch::create(*engine));
  const std::vector<int32_t> plain = alone(request(prompt(1, 4), 12));
  TextRequest biased = request(prompt(1, 4), 12);
  biased.rules.bias[plain[0]] = -std::numeric_limits<double>::infinity();
  TextRequest once = request(prompt(1, 4), 12);
  once.rules.presence_penalty = 100;
  TextRequest likely = request(prompt(1, 4), 12, {.temperature = 1, .seed = 1});
  likely.rules.min_p = 1;
  TextRequest reported = request(prompt(1, 4), 12);
  reported.top_probabilities = 3;
  std::vector<llm::TokenProbabilities> probabilities;
  reported.on_token = [&](const llm::ChosenToken& token) {
    probabilities.push_back(*token.probabilities);
    return true;
  };
  TextRequest constrained = request(prompt(1, 4), 12);
  constrained.constrain = [](std::span<float> logits) {
    std::ranges::fill(logits.subspan(3), -std::numeric_limits<float>::infinity());
  };
  std::vector<Outcome> outcomes(6);
  add(*batch, biased, outcomes[0]);
  add(*batch, once, outcomes[1]);
  add(*batch, likely, outcomes[2]);
  add(*batch, reported, outcomes[3]);
  add(*batch, constrained, outcomes[4]);
  add(*batch, request(prompt(1, 4), 12), outcomes[5]);
  run(*batch);
  EXPECT_EQ(std::ranges::count(outcomes[0].tokens, plain[0]), 0);
  EXPECT_EQ(std::set<int32_t>(outcomes[1].tokens.begin(), outcomes[1].tokens.end()).size(), 12u);
  EXPECT_EQ(outcomes[2].tokens, plain) << "min-p of 1 leaves the most likely token";
  EXPECT_EQ(outcomes[3].tokens, plain);
  ASSERT_EQ(probabilities.size(), 12u);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    ASSERT_EQ(probabilities[i].top.size(), 3u);
    EXPECT_EQ(probabilities[i].top[0].first, plain[i]);
    EXPECT_EQ(probabilities[i].top[0].second, probabilities[i].chosen);
    EXPECT_LT(probabilities[i].chosen, 0);
    EXPECT_GE(probabilities[i].top[1].second, probabilities[i].top[2].second);
  }
  EXPECT_LT(*std::ranges::max_element(outcomes[4].tokens), 3);
  EXPECT_EQ(outcomes[5].tokens, plain) << "the others' rules do not change a text";
}

TEST_P(ContinuousBatchTest, ATextWithoutATokenToTakeFailsAlone) {
  auto engine = model_->engine({.capacity = 32});
  auto batch = unwrap(ContinuousBatch::create(*engine));
  TextRequest impossible = request(prompt(1, 4), 6);
  impossible.constrain = [](std::span<float> logits) {
    std::ranges::fill(logits, -std::numeric_limits<float>::infinity());
  };
  Outcome failed, other;
  add(*batch, impossible, failed);
  add(*batch, request(prompt(2, 4), 6), other);
  run(*batch);
  ASSERT_TRUE(failed.end);
  ASSERT_FALSE(*failed.end);
  EXPECT_EQ(failed.end->error().kind, ErrorKind::kUser);
  EXPECT_EQ(other.tokens, alone(request(prompt(2, 4), 6)));
  EXPECT_EQ(batch->counts().failed, 1);
}

TEST_P(ContinuousBatchTest, BadInputIsRefused) {
  auto engine = model_->engine({.capacity = 32});
  auto batch = unwrap(ContinuousBatch::create(*engine));
  const auto refused = [&](const TextRequest& wrong, const std::string& says) {
    const auto result = batch->submit(wrong);
    ASSERT_FALSE(result) << says;
    EXPECT_EQ(result.error().kind, ErrorKind::kUser);
    EXPECT_NE(result.error().to_string().find(says), std::string::npos)
        << result.error().to_string();
  };
  refused(request({}, 4), "prompt is empty");
  refused(request({-1}, 4), "vocabulary");
  refused(request(prompt(1, 33), 4), "at most 32");
  refused(request(prompt(1, 32), 4), "no room");
  refused(request(prompt(1, 4), 0), "max_tokens");
  refused(request(prompt(1, 4), 4, {.temperature = -1}), "temperature");
  TextRequest rules = request(prompt(1, 4), 4);
  rules.rules.min_p = 2;
  refused(rules, "min_p");
  rules.rules = {.repetition_penalty = 0};
  refused(rules, "repetition_penalty");
  rules.rules = {.bias = {{static_cast<int32_t>(vocabulary_), 1.0}}};
  refused(rules, "biased token");
  rules.rules = {.frequency_penalty = std::numeric_limits<double>::quiet_NaN()};
  refused(rules, "frequency_penalty");
  EXPECT_FALSE(unwrap(batch->step()));
  EXPECT_FALSE(ContinuousBatch::create(*engine, {.texts = -1}));
  const auto small = ContinuousBatch::create(*engine, {.cached_tokens = 8});
  ASSERT_FALSE(small);
  EXPECT_NE(small.error().to_string().find("at least 32"), std::string::npos)
      << small.error().to_string();
}

// Other kinds of state: recurrent (a slot for each text), a window whose
// pages are released, rotations that depend on the text's length.
class ContinuousBatchOf : public ::testing::TestWithParam<const char*> {};

TEST_P(ContinuousBatchOf, KeepsTheStateOfEachText) {
  const CompiledModel* model = testing::compiled_model("cpu", GetParam());
  ASSERT_TRUE(model);
  const auto golden = model->golden.reference.at("tokens").values<int32_t>();
  const int64_t page = model->executable->model.page_size;
  const int64_t context = model->executable->model.context;
  auto engine = model->engine({.first_capacity = 1});
  auto batch = unwrap(ContinuousBatch::create(*engine, {.texts = 3, .prompt_piece = page - 1}));
  std::vector<std::vector<int32_t>> prompts;
  for (size_t i = 0; i < 5; ++i) {
    const auto part = golden.subspan(i % 3, std::min<size_t>(golden.size() - 3, 4 + 3 * i));
    prompts.emplace_back(part.begin(), part.end());
  }
  const int64_t most = std::min<int64_t>(20, context - std::ssize(prompts.back()) - 1);
  std::vector<std::vector<int32_t>> texts(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    TextRequest request;
    request.prompt = prompts[i];
    request.max_tokens = most;
    request.on_token = [&texts, i](const llm::ChosenToken& token) {
      texts[i].push_back(token.token);
      return true;
    };
    unwrap(batch->submit(std::move(request)));
    ASSERT_TRUE(unwrap(batch->step()));
  }
  while (unwrap(batch->step())) {
  }
  EXPECT_EQ(batch->counts().failed, 0);
  for (size_t i = 0; i < prompts.size(); ++i) {
    auto alone = model->engine();
    const auto expected =
        unwrap(alone->generate(prompts[i], {.max_tokens = most, .eos = {}, .sampler = {}}));
    EXPECT_EQ(texts[i], expected.tokens) << "text " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ContinuousBatchOf,
                         ::testing::Values("mamba2", "rwkv7", "ministral_window", "falcon_h1",
                                           "phi3_longrope"),
                         [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(Platforms, ContinuousBatchTest, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tapml
