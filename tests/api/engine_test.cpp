// The engine of the C interface: what it generates, how a call ends, and what its conversation
// keeps.
#include "llm/engine.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

#include "api/engine_fixture.h"
#include "llm/tokenizer/utf8.h"
#include "support/sessions.h"

namespace tapml {
namespace {

using testing::ask;
using testing::at_most;
using testing::CAnswer;
using testing::CEngine;

constexpr const char* kPrompt = "In the beginning";

// Generates the same tokens as the engine of `tapml run` for the same prompt.
class EngineAsRun : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<int32_t> expected(const tapml_generate_options& options) {
    auto package = unwrap(llm::read_package(testing::demo_package(GetParam())));
    auto session = testing::open_session(GetParam());
    auto engine = unwrap(llm::Engine::create(
        *session, std::make_shared<const Executable>(std::move(package.file.executable)),
        package.weights));
    llm::GenerateOptions generate;
    generate.max_tokens = options.max_tokens;
    generate.eos = package.end_tokens;
    generate.sampler = {options.temperature, options.top_p, options.top_k, options.seed};
    const auto prompt = unwrap(package.tokenizer.encode_prompt(kPrompt));
    return unwrap(engine->generate(prompt, generate)).tokens;
  }
};

TEST_P(EngineAsRun, TakesTheSameTokens) {
  if (!testing::open_device(GetParam())) GTEST_SKIP() << GetParam() << " is unavailable";
  CEngine engine(GetParam());
  ASSERT_NE(engine.get(), nullptr) << tapml_last_error();
  EXPECT_EQ(tapml_engine_context(engine.get()), 512);
  EXPECT_EQ(tapml_engine_vocabulary(engine.get()), 2048);
  EXPECT_EQ(engine.length(), 0);
  tapml_generate_options random = at_most(60);
  random.temperature = 0.9;
  random.top_p = 0.95;
  random.top_k = 50;
  random.seed = 17;
  for (const tapml_generate_options& options : {at_most(60), random}) {
    tapml_engine_reset(engine.get());
    CAnswer answer;
    answer.ask(engine.get(), kPrompt, options);
    ASSERT_EQ(answer.status, TAPML_OK) << tapml_last_error();
    EXPECT_EQ(engine.tokens(), expected(options));
    EXPECT_EQ(answer.generation.reason, TAPML_END_MAX);
    EXPECT_EQ(answer.generation.tokens, 60);
    EXPECT_GE(answer.generation.prompt_tokens, 3);
    EXPECT_GT(answer.generation.prefill_seconds, 0);
    EXPECT_GT(answer.generation.decode_seconds, 0);
    EXPECT_EQ(engine.length(), answer.generation.prompt_tokens + 60);
    for (const std::string& piece : answer.pieces) {
      EXPECT_FALSE(piece.empty());
      EXPECT_EQ(tokenizer::find_invalid_utf8(piece), std::string::npos) << piece;
    }
    const std::vector<int32_t> tokens = engine.tokens();
    std::string text(4096, '\0');
    int64_t bytes = 0;
    ASSERT_EQ(tapml_engine_detokenize(engine.get(), tokens.data(), 60, text.data(), 4096, &bytes),
              TAPML_OK);
    EXPECT_EQ(answer.text, text.substr(0, static_cast<size_t>(bytes)));
  }
}

TEST_P(EngineAsRun, ProposedTokensChangeNoAnswer) {
  if (!testing::open_device(GetParam())) GTEST_SKIP() << GetParam() << " is unavailable";
  tapml_engine_options with_draft = TAPML_ENGINE_OPTIONS;
  with_draft.draft = testing::demo_package(GetParam()).c_str();
  CEngine engine(GetParam(), &with_draft);
  ASSERT_NE(engine.get(), nullptr) << tapml_last_error();
  tapml_generate_options plain = at_most(40);
  plain.draft_tokens = 0;
  tapml_generate_options drafted = at_most(40), looked_up = at_most(40);
  drafted.keep_draft = looked_up.keep_draft = 1;
  looked_up.lookup = 1;
  const auto tokens_of = [&](const tapml_generate_options& options, CAnswer& answer) {
    tapml_engine_reset(engine.get());
    answer.ask(engine.get(), kPrompt, options);
    EXPECT_EQ(answer.status, TAPML_OK) << tapml_last_error();
    EXPECT_EQ(engine.length(), answer.generation.prompt_tokens + 40);
    std::vector<int32_t> tokens = engine.tokens();
    // A further turn, of the answer's own tokens and new ones.
    answer.ask(engine.get(), " and", options);
    EXPECT_EQ(answer.status, TAPML_OK) << tapml_last_error();
    std::ranges::copy(engine.tokens(), std::back_inserter(tokens));
    return tokens;
  };
  CAnswer without, by_draft, by_lookup;
  const std::vector<int32_t> expected = tokens_of(plain, without);
  EXPECT_EQ(expected.size(), 80u);
  EXPECT_EQ(without.generation.proposed, 0);
  EXPECT_EQ(tokens_of(drafted, by_draft), expected);
  EXPECT_EQ(tokens_of(looked_up, by_lookup), expected);
  EXPECT_GT(by_draft.generation.proposed, 0);
  EXPECT_GT(by_draft.generation.accepted, by_draft.generation.proposed / 2);
  EXPECT_GT(by_lookup.generation.proposed, 0);
}

TEST_P(EngineAsRun, SeveralEnginesRunAtOnce) {
  if (!testing::open_device(GetParam())) GTEST_SKIP() << GetParam() << " is unavailable";
  CEngine first(GetParam()), third(GetParam());
  tapml_engine* second = nullptr;  // of the first engine's session
  ASSERT_EQ(tapml_engine_load(first.session(), testing::demo_package(GetParam()).c_str(), nullptr,
                              &second),
            TAPML_OK)
      << tapml_last_error();
  const std::string expected = ask(first.get(), kPrompt, 40).text;
  tapml_engine_reset(first.get());
  std::vector<std::string> texts(3);
  std::vector<std::thread> threads;
  tapml_engine* const engines[] = {first.get(), second, third.get()};
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { texts[i] = ask(engines[i], kPrompt, 40).text; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, expected);
  tapml_engine_free(second);
}

INSTANTIATE_TEST_SUITE_P(Platforms, EngineAsRun, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

class EngineConversation : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(engine_.get(), nullptr) << tapml_last_error(); }

  CEngine engine_{"cpu"};
};

TEST_F(EngineConversation, BeginsAnewAfterReset) {
  const CAnswer first = ask(engine_.get(), kPrompt, 20);
  const CAnswer other = ask(engine_.get(), " And then", 20);
  EXPECT_NE(first.text, other.text);
  tapml_engine_reset(engine_.get());
  EXPECT_EQ(engine_.length(), 0);
  EXPECT_EQ(ask(engine_.get(), kPrompt, 20).text, first.text);
}

TEST_F(EngineConversation, ContinuesAnAnswerThatWasEndedEarly) {
  const std::string whole = ask(engine_.get(), kPrompt, 30).text;
  tapml_engine_reset(engine_.get());
  std::string parts = ask(engine_.get(), kPrompt, 12).text;
  parts += ask(engine_.get(), "", 1).text;
  parts += ask(engine_.get(), "", 17).text;
  EXPECT_EQ(parts, whole);
}

TEST_F(EngineConversation, KeepsEarlierTurns) {
  ask(engine_.get(), kPrompt, 10);
  std::vector<int32_t> all = engine_.tokens();
  const std::string more = " said unto them";
  ask(engine_.get(), more, 10);
  const std::vector<int32_t> found = engine_.tokens();
  // The whole conversation as one prompt, by tokens.
  auto package = unwrap(llm::read_package(testing::demo_package("cpu")));
  std::vector<int32_t> prompt = unwrap(package.tokenizer.encode_prompt(kPrompt));
  prompt.insert(prompt.end(), all.begin(), all.end());
  const auto behind = unwrap(package.tokenizer.encode(more, false));
  prompt.insert(prompt.end(), behind.begin(), behind.end());
  EXPECT_EQ(engine_.length(), std::ssize(prompt) + 10);
  auto session = testing::open_session("cpu");
  auto plain = unwrap(llm::Engine::create(
      *session, std::make_shared<const Executable>(std::move(package.file.executable)),
      package.weights));
  EXPECT_EQ(found,
            unwrap(plain->generate(prompt, {.max_tokens = 10, .eos = {}, .sampler = {}})).tokens);
}

TEST_F(EngineConversation, IsEndedByTheTextFunction) {
  const CAnswer whole = ask(engine_.get(), kPrompt, 24);
  ASSERT_GT(whole.pieces.size(), 3u);
  tapml_engine_reset(engine_.get());
  CAnswer stopped;
  stopped.most_pieces = 3;
  stopped.ask(engine_.get(), kPrompt, at_most(24));
  ASSERT_EQ(stopped.status, TAPML_OK) << tapml_last_error();
  EXPECT_EQ(stopped.generation.reason, TAPML_END_CALLBACK);
  EXPECT_EQ(stopped.pieces.size(), 3u);
  EXPECT_LT(stopped.generation.tokens, 24);
  const CAnswer rest = ask(engine_.get(), "", 24 - stopped.generation.tokens);
  EXPECT_EQ(stopped.text + rest.text, whole.text);
}

TEST_F(EngineConversation, TakesNoSecondCallAtOnce) {
  const std::string whole = ask(engine_.get(), kPrompt, 8).text;
  tapml_engine_reset(engine_.get());
  struct Inner {
    tapml_engine* engine;
    int refused = 0;
  } inner{engine_.get()};
  auto calls_again = [](void* user, const char*, size_t) -> int32_t {
    auto* self = static_cast<Inner*>(user);
    testing::expect_refused(
        tapml_engine_generate(self->engine, "a", 1, nullptr, nullptr, nullptr, nullptr),
        {"is already generating"});
    ++self->refused;
    return 0;
  };
  const tapml_generate_options options = at_most(4);
  ASSERT_EQ(tapml_engine_generate(engine_.get(), kPrompt, std::strlen(kPrompt), &options,
                                  calls_again, &inner, nullptr),
            TAPML_OK)
      << tapml_last_error();
  EXPECT_GT(inner.refused, 1);
  const CAnswer rest = ask(engine_.get(), "", 4);
  EXPECT_TRUE(whole.ends_with(rest.text)) << rest.text;
}

TEST_F(EngineConversation, IsCancelledBetweenTokens) {
  const std::string whole = ask(engine_.get(), kPrompt, 24).text;
  tapml_engine_reset(engine_.get());
  CAnswer cancelled;
  cancelled.cancels = engine_.get();
  cancelled.ask(engine_.get(), kPrompt, at_most(24));
  ASSERT_EQ(cancelled.status, TAPML_OK) << tapml_last_error();
  EXPECT_EQ(cancelled.generation.reason, TAPML_END_CANCELLED);
  EXPECT_EQ(cancelled.pieces.size(), 1u);
  EXPECT_EQ(cancelled.text + ask(engine_.get(), "", 24 - cancelled.generation.tokens).text, whole);
}

TEST_F(EngineConversation, IsCancelledByAnotherThread) {
  std::string long_prompt;
  for (int i = 0; i < 60; ++i) long_prompt += "In the beginning God created ";
  const std::string whole = ask(engine_.get(), kPrompt, 16).text;
  // The other thread may not be scheduled while the prompt runs.
  for (int attempt = 0; attempt < 50; ++attempt) {
    tapml_engine_reset(engine_.get());
    const std::string begin = ask(engine_.get(), kPrompt, 8).text;
    const int64_t before = engine_.length();
    std::atomic<bool> done = false;
    std::thread canceller([&] {
      while (!done) tapml_engine_cancel(engine_.get());
    });
    CAnswer cancelled;
    cancelled.ask(engine_.get(), long_prompt, at_most(100));
    done = true;
    canceller.join();
    ASSERT_EQ(cancelled.status, TAPML_OK) << tapml_last_error();
    if (cancelled.generation.tokens > 0) continue;
    EXPECT_EQ(cancelled.generation.reason, TAPML_END_CANCELLED);
    EXPECT_EQ(cancelled.generation.prompt_tokens, 0);
    EXPECT_TRUE(cancelled.text.empty());
    // Nothing of the prompt is kept.
    EXPECT_EQ(engine_.length(), before);
    EXPECT_EQ(begin + ask(engine_.get(), "", 8).text, whole);
    return;
  }
  FAIL() << "never cancelled before the first token";
}

TEST_F(EngineConversation, EndsAtItsLimits) {
  const CAnswer none = ask(engine_.get(), kPrompt, 0);
  EXPECT_EQ(none.generation.reason, TAPML_END_MAX);
  EXPECT_EQ(none.generation.tokens, 0);
  EXPECT_TRUE(none.pieces.empty());
  EXPECT_EQ(engine_.length(), none.generation.prompt_tokens);
  EXPECT_TRUE(engine_.tokens().empty());

  tapml_engine_options small = TAPML_ENGINE_OPTIONS;
  small.context = 20;
  CEngine short_engine("cpu", &small);
  EXPECT_EQ(tapml_engine_context(short_engine.get()), 20);
  const CAnswer full = ask(short_engine.get(), kPrompt, INT64_MAX);
  EXPECT_EQ(full.generation.reason, TAPML_END_CONTEXT);
  EXPECT_EQ(full.generation.prompt_tokens + full.generation.tokens, 21);
  CAnswer more;
  more.ask(short_engine.get(), "", at_most(1));
  testing::expect_refused(more.status, {"too long for what is left", "fewer than 0 tokens",
                                        "begin a new conversation"});
  EXPECT_EQ(short_engine.length(), 21);
}

TEST_F(EngineConversation, EndsWithTheModelsEndToken) {
  ask(engine_.get(), kPrompt, 6);
  const std::vector<int32_t> tokens = engine_.tokens();
  for (const size_t at : {size_t{0}, size_t{5}}) {
    testing::TempFolder folder;
    std::filesystem::copy(testing::demo_package("cpu"), folder.path());
    testing::replace_in(folder / "package.json", "2047", std::to_string(tokens[at]));
    CEngine ends("cpu", folder.path());
    const CAnswer answer = ask(ends.get(), kPrompt, 6);
    EXPECT_EQ(answer.generation.reason, TAPML_END_TOKEN);
    const size_t first = std::find(tokens.begin(), tokens.end(), tokens[at]) - tokens.begin();
    EXPECT_EQ(ends.tokens(), std::vector<int32_t>(tokens.begin(), tokens.begin() + first));
    // The end token is not part of the conversation, and generation cannot continue after it.
    EXPECT_EQ(ends.length(), answer.generation.prompt_tokens + answer.generation.tokens);
    CAnswer more;
    more.ask(ends.get(), "", at_most(1));
    testing::expect_refused(more.status, {"the prompt is empty"});
  }
}

TEST_F(EngineConversation, IsResetWhenLogitsAreNotFinite) {
  testing::TempFolder folder;
  testing::make_demo_package("cpu", folder.path(), [](llm::PackageContents& contents) {
    HostTensor& weight = contents.weights.at("lm_head.weight");
    HostTensor changed = HostTensor::zeros(weight.dtype(), weight.shape());
    changed.set_f64(0, std::numeric_limits<double>::quiet_NaN());
    weight = changed;
  });
  CEngine broken("cpu", folder.path());
  CAnswer answer;
  answer.ask(broken.get(), kPrompt, at_most(4));
  testing::expect_refused(answer.status,
                          {"is the first kernel whose output is not finite", "lm_head.weight"});
  EXPECT_EQ(broken.length(), 0);
  EXPECT_TRUE(broken.tokens().empty());
}

}  // namespace
}  // namespace tapml
