// A model whose paged state has a window: pages that left it are used again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "llm/engine.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/toy_decoder.h"

namespace tapml::llm {
namespace {

using testing::ToyDecoder;
using Tokens = std::vector<int32_t>;

constexpr int64_t kWindow = 6;
// Three pages, the fewest that hold the window and a page more.
constexpr EngineOptions kSmall{.capacity = 12, .first_capacity = 1};

// The most pages that a pool of the decoder has in any call, and the kernel calls of prefill.
class PoolWatcher : public runtime::Observer {
 public:
  bool wants(const runtime::CallSite&, int64_t) noexcept override { return true; }
  Status before(const runtime::KernelCall& call) noexcept override {
    prefills += call.site.function == "prefill" ? 1 : 0;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const auto& shape = call.args[i].shape;
      if (shape.size() == 4 && shape[1] == ToyDecoder::kPage && shape[3] == ToyDecoder::kHidden) {
        pages = std::max(pages, shape[0]);
      }
    }
    return {};
  }
  Status after(const runtime::KernelCall&) noexcept override { return {}; }

  int64_t pages = 0, prefills = 0;
};

Tokens random_tokens(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(random() % 37));
  return tokens;
}

class Windows : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    session_ = testing::open_session(GetParam());
    ASSERT_TRUE(session_) << GetParam() << " is unavailable";
  }
  static std::shared_ptr<const Executable> compiled(const ToyDecoder& model) {
    return pipeline::compile(model.module, target::parse_target(GetParam()));
  }
  std::unique_ptr<Engine> engine(const ToyDecoder& model, const EngineOptions& options = {}) {
    return unwrap(Engine::create(*session_, compiled(model), model.weights, options));
  }
  // `found` are the logits of the tokens from `first` on.
  static void expect_logits(const HostTensor& found, const std::vector<std::vector<double>>& rows,
                            size_t first) {
    const auto width = static_cast<size_t>(ToyDecoder::kVocabulary);
    const auto values = found.values<float>();
    ASSERT_LE(first + values.size() / width, rows.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], rows[first + i / width][i % width], 5e-4)
          << "token " << first + i / width;
    }
  }
  static void expect_refused(const Result<runtime::Tensor>& result,
                             const std::vector<std::string>& parts) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::kUser);
    testing::expect_parts(result.error(), parts);
  }

  std::unique_ptr<runtime::Session> session_;
};

// A whole context of random tokens in a cache of three pages, by all three functions.
TEST_P(Windows, ATextMayBeLongerThanTheCache) {
  const ToyDecoder model = testing::toy_decoder(1, kWindow);
  const Tokens text = random_tokens(ToyDecoder::kContext, 2);
  const auto expected = model.logits(text);
  auto engine = this->engine(model, kSmall);
  EXPECT_EQ(engine->capacity(), ToyDecoder::kContext);
  PoolWatcher watcher;
  engine->local_vm().call_point().set_observer(&watcher);
  expect_logits(unwrap(engine->logits_all(std::span(text).first(50))), expected, 0);
  size_t next = 50;
  for (; next < 70; ++next) {
    expect_logits(unwrap(runtime::download(unwrap(engine->decode(text[next])))), expected, next);
  }
  expect_logits(unwrap(runtime::download(unwrap(engine->prefill(std::span(text).subspan(next))))),
                expected, text.size() - 1);
  EXPECT_EQ(watcher.pages, 3);
  expect_refused(engine->decode(1), {"longer than the model's context"});
}

// Greedy texts, alone and together, do not depend on the size of the cache.
TEST_P(Windows, TheCacheDoesNotChangeATextsTokens) {
  const ToyDecoder model = testing::toy_decoder(3, kWindow);
  GenerateOptions options;
  options.max_tokens = 40;
  const std::vector<Tokens> prompts = {random_tokens(20, 4), {5}, random_tokens(20, 6), {7, 8, 9}};
  const auto executable = compiled(model);
  auto large = unwrap(Engine::create(*session_, executable, model.weights)),
       small = unwrap(Engine::create(*session_, executable, model.weights, kSmall));
  for (const Tokens& prompt : prompts) {
    const Tokens expected = model.greedy(prompt, options.max_tokens);
    EXPECT_EQ(unwrap(large->generate(prompt, options)).tokens, expected);
    EXPECT_EQ(unwrap(small->generate(prompt, options)).tokens, expected);
  }
  PoolWatcher watcher;
  small->local_vm().call_point().set_observer(&watcher);
  const auto together = unwrap(small->generate_batch(prompts, options));
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(together[i].tokens, model.greedy(prompts[i], options.max_tokens)) << i;
  }
  EXPECT_LE(watcher.pages, 3 * std::ssize(prompts));
}

TEST_P(Windows, ATextIsShortenedInTheWindowAndBeforeIt) {
  const ToyDecoder model = testing::toy_decoder(5, kWindow);
  const Tokens text = random_tokens(40, 7);
  auto engine = this->engine(model, kSmall);
  PoolWatcher watcher;
  engine->local_vm().call_point().set_observer(&watcher);
  for (const int64_t length : {39, 34, 33, 20, 3, 0}) {
    engine->reset();
    unwrap(engine->prefill(text));
    watcher.prefills = 0;
    engine->rewind(length);
    EXPECT_EQ(engine->length(), length);
    Tokens other(text.begin(), text.begin() + length);
    const Tokens more = random_tokens(9, 8);
    other.insert(other.end(), more.begin(), more.end());
    expect_logits(unwrap(engine->logits_all(more)), model.logits(other),
                  static_cast<size_t>(length));
    EXPECT_EQ(engine->length(), length + 9);
    // The prompt's last piece began at token 36, when the pages before token 28 were released.
    EXPECT_EQ(watcher.prefills > 0, length > 0 && length - kWindow < 28) << length;
  }
}

// A cache without room for the window and a page more limits the text, as without a window; so does
// a model that reads everything.
TEST_P(Windows, ACacheWithoutRoomForTheWindowLimitsTheText) {
  const Tokens text = random_tokens(13, 9);
  for (const int64_t window : {kWindow, int64_t{0}}) {
    const ToyDecoder model = testing::toy_decoder(6, window);
    const int64_t capacity = window > 0 ? 8 : 12;
    auto engine = this->engine(model, {.capacity = capacity});
    EXPECT_EQ(engine->capacity(), capacity);
    const auto fits = static_cast<size_t>(capacity);
    expect_logits(unwrap(engine->logits_all(std::span(text).first(fits))), model.logits(text), 0);
    engine->reset();
    expect_refused(engine->prefill(std::span(text).first(fits + 1)),
                   {"longer than the cache", "at most " + std::to_string(capacity) + " tokens"});
  }
}

// The trace of logits that are not finite runs a text again whose first pages are gone.
TEST_P(Windows, NonFiniteLogitsAreTracedThroughReleasedPages) {
  ToyDecoder model = testing::toy_decoder(7, kWindow);
  constexpr int32_t kBroken = 11;
  HostTensor& embed = model.weights.at("embed");
  embed.set_f64(kBroken * ToyDecoder::kHidden, NAN);
  auto engine = this->engine(model, kSmall);
  Tokens text = random_tokens(30, 10);
  std::ranges::replace(text, kBroken, 0);
  unwrap(engine->prefill(text));
  unwrap(engine->decode(kBroken));
  const auto logits = unwrap(engine->decode(3));
  const Result<int32_t> token = engine->sample(logits);
  ASSERT_FALSE(token);
  testing::expect_parts(token.error(), {"first kernel whose output is not finite", "weight embed"});
  // The engine goes on.
  unwrap(engine->clear());
  expect_logits(unwrap(engine->logits_all(text)), model.logits(text), 0);
}

INSTANTIATE_TEST_SUITE_P(Platforms, Windows, ::testing::Values("cpu", "opencl"));

}  // namespace
}  // namespace tapml::llm
