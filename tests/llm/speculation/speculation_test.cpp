// Texts with speculative decoding are those without.
#include "llm/speculation/speculation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ir/exceptions.h"
#include "llm/speculation/draft_model.h"
#include "llm/speculation/lookup.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/toy_decoder.h"
#include "support/toy_models.h"

namespace tapml::llm {
namespace {

using testing::ToyDecoder;
using Tokens = std::vector<int32_t>;

// One thread, which other programs on the machine slow down less.
std::unique_ptr<runtime::Session> open_processor() {
  return unwrap(runtime::LocalSession::create(
      std::make_shared<device::CpuDevice>(1, codegen::make_jit_loader())));
}

// A toy decoder on the processor.
class Compiled {
 public:
  explicit Compiled(ToyDecoder decoder)
      : model(std::move(decoder)),
        session_(open_processor()),
        executable_(pipeline::compile(model.module, target::parse_target("cpu"))) {}

  std::unique_ptr<Engine> engine(const EngineOptions& options = {}) const {
    return unwrap(Engine::create(*session_, executable_, model.weights, options));
  }

  const ToyDecoder model;

 private:
  std::unique_ptr<runtime::Session> session_;
  std::shared_ptr<const Executable> executable_;
};

// The decoder of a seed, compiled once for all tests.
const Compiled& toy(unsigned seed, int64_t window = 0) {
  static std::map<std::pair<unsigned, int64_t>, std::unique_ptr<Compiled>> kept;
  std::unique_ptr<Compiled>& one = kept[{seed, window}];
  if (!one) one = std::make_unique<Compiled>(testing::toy_decoder(seed, window));
  return *one;
}

std::unique_ptr<Speculation> speculation_of(Result<std::unique_ptr<Proposer>> proposer,
                                            const SpeculationOptions& options = {.keep = true}) {
  return unwrap(Speculation::create(unwrap(std::move(proposer)), options));
}

const std::vector<Tokens>& prompts() {
  static const std::vector<Tokens> all = {{5}, {7, 8, 9}, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 36}};
  return all;
}

void expect_greedy(const ToyDecoder& model, Engine& engine, Speculation& speculation) {
  GenerateOptions options;
  options.speculation = &speculation;
  for (const Tokens& prompt : prompts()) {
    for (const int64_t tokens : {1, 2, 7, 60}) {
      options.max_tokens = tokens;
      Tokens given;
      options.on_token = [&](int32_t token) {
        given.push_back(token);
        return true;
      };
      const Generation text = unwrap(engine.generate(prompt, options));
      EXPECT_EQ(text.tokens, model.greedy(prompt, tokens));
      EXPECT_EQ(text.tokens, given);
      EXPECT_EQ(text.decode_steps, tokens - 1);
      EXPECT_EQ(engine.length(), std::ssize(prompt) + tokens - 1);
      EXPECT_EQ(text.speculation.verified_tokens + text.speculation.plain_steps, tokens - 1);
    }
  }
}

TEST(Speculation, ADraftThatIsTheModelIsAcceptedAlways) {
  const Compiled& compiled = toy(1);
  auto engine = compiled.engine(), draft = compiled.engine();
  auto speculation = speculation_of(DraftModel::create(*draft, engine->model()));
  expect_greedy(compiled.model, *engine, *speculation);
  const SpeculationCounts counts = speculation->counts();  // of 60 tokens, the first one plain
  EXPECT_EQ(counts.acceptance(), 1);
  EXPECT_EQ(counts.verify_steps, 12);
  EXPECT_EQ(counts.verified_tokens, 59);
  EXPECT_EQ(counts.plain_steps, 0);
}

TEST(Speculation, AnotherDraftChangesNoToken) {
  const Compiled &compiled = toy(1), &other = toy(2);
  auto engine = compiled.engine(), draft = other.engine();
  for (const int64_t tokens : {1, 4, 16}) {
    auto speculation = speculation_of(DraftModel::create(*draft, engine->model()),
                                      {.tokens = tokens, .keep = true});
    expect_greedy(compiled.model, *engine, *speculation);
    EXPECT_LT(speculation->counts().acceptance(), 1);
  }
}

TEST(Speculation, LookupChangesNoToken) {
  const Compiled& compiled = toy(3);
  auto engine = compiled.engine();
  for (const int64_t matched : {1, 3}) {
    auto speculation = speculation_of(Lookup::create(matched));
    expect_greedy(compiled.model, *engine, *speculation);
  }
}

// Of a draft and of lookup, with a cache that uses pages again.
TEST(Speculation, WorksInAWindow) {
  const Compiled& compiled = toy(5, 6);
  const Compiled& other = toy(2);
  auto draft = other.engine();
  for (const EngineOptions& options : {EngineOptions{}, {.capacity = 12, .first_capacity = 1}}) {
    auto engine = compiled.engine(options);
    auto drafted = speculation_of(DraftModel::create(*draft, engine->model()));
    expect_greedy(compiled.model, *engine, *drafted);
    auto looked_up = speculation_of(Lookup::create(1));
    expect_greedy(compiled.model, *engine, *looked_up);
    EXPECT_GT(looked_up->counts().verify_steps, 0);
  }
}

// The cache is fragmented, the draft's context shorter, and the text fills the model's.
TEST(Speculation, TextsMayFillTheContext) {
  const Compiled &compiled = toy(1), &other = toy(2);
  auto engine = compiled.engine({.fragmented = true}), draft = other.engine({.capacity = 40});
  auto speculation = speculation_of(DraftModel::create(*draft, engine->model()));
  GenerateOptions options;
  options.max_tokens = 1000;
  const Generation plain = unwrap(engine->generate(Tokens{1, 2, 3}, options));
  options.speculation = speculation.get();
  const Generation text = unwrap(engine->generate(Tokens{1, 2, 3}, options));
  EXPECT_EQ(text.tokens, plain.tokens);
  EXPECT_EQ(text.reason, StopReason::kContextFull);
  EXPECT_EQ(engine->length(), ToyDecoder::kContext);
  EXPECT_GT(text.speculation.plain_steps, 40);
  EXPECT_GT(text.speculation.verify_steps, 5);
}

TEST(Speculation, TextsEndAndContinueAsWithoutIt) {
  const Compiled& compiled = toy(1);
  auto engine = compiled.engine(), draft = compiled.engine();
  auto speculation = speculation_of(DraftModel::create(*draft, engine->model()));
  const Tokens prompt = {4, 9};
  const Tokens all = compiled.model.greedy(prompt, 30);
  GenerateOptions options;
  options.speculation = speculation.get();
  options.max_tokens = 30;
  // A stop token in the middle of a verify step.
  options.eos = {all[8]};
  const auto first = std::ranges::find(all, all[8]) - all.begin();
  Generation text = unwrap(engine->generate(prompt, options));
  EXPECT_EQ(text.tokens, Tokens(all.begin(), all.begin() + first));
  EXPECT_EQ(text.reason, StopReason::kEos);
  EXPECT_EQ(engine->length(), std::ssize(prompt) + first);
  // The caller ends it, and the text goes on later.
  options.eos = {};
  int64_t left = 8;
  options.on_token = [&](int32_t) { return --left > 0; };
  text = unwrap(engine->generate(prompt, options));
  EXPECT_EQ(text.tokens, Tokens(all.begin(), all.begin() + 8));
  EXPECT_EQ(text.reason, StopReason::kCaller);
  options.on_token = {};
  options.max_tokens = 22;
  text = unwrap(engine->extend(Tokens{all[7]}, options));
  EXPECT_EQ(text.tokens, Tokens(all.begin() + 8, all.end()));
}

TEST(Speculation, KeepsTheLogitsOfTheText) {
  const Compiled &compiled = toy(1), &other = toy(2);
  auto engine = compiled.engine(), draft = other.engine();
  auto speculation = speculation_of(DraftModel::create(*draft, engine->model()));
  GenerateOptions options;
  options.max_tokens = 20;
  options.keep_logits = true;
  options.speculation = speculation.get();
  const Generation text = unwrap(engine->generate(Tokens{1, 2, 3}, options));
  Tokens read = {1, 2, 3};
  read.insert(read.end(), text.tokens.begin(), text.tokens.end() - 1);
  const auto expected = compiled.model.logits(read);
  ASSERT_EQ(text.logits.shape(), (Shape{22, ToyDecoder::kVocabulary}));
  for (int64_t i = 0; i < text.logits.size(); ++i) {
    const auto row = static_cast<size_t>(i / ToyDecoder::kVocabulary);
    ASSERT_NEAR(text.logits.at_f64(i), expected[row][static_cast<size_t>(i) % 37], 5e-4) << i;
  }
}

// With a constraint that depends on the text: no token twice in a row, and never above 20.
TEST(Speculation, ConstraintsFollowTheText) {
  const Compiled &compiled = toy(1), &other = toy(2);
  auto engine = compiled.engine(), draft = other.engine();
  auto speculation = speculation_of(DraftModel::create(*draft, engine->model()));
  for (const double temperature : {0.0, 1.0}) {
    int32_t last = -1;
    GenerateOptions options;
    options.max_tokens = 40;
    options.sampler.temperature = temperature;
    options.constrain = [&](std::span<float> logits) {
      for (size_t i = 0; i < logits.size(); ++i) {
        if (i > 20 || static_cast<int32_t>(i) == last) logits[i] = -INFINITY;
      }
    };
    options.on_token = [&](int32_t token) {
      EXPECT_LE(token, 20);
      EXPECT_NE(token, last);
      last = token;
      return true;
    };
    const Generation plain = unwrap(engine->generate(Tokens{1, 2, 3}, options));
    last = -1;
    options.speculation = speculation.get();
    const Generation text = unwrap(engine->generate(Tokens{1, 2, 3}, options));
    EXPECT_EQ(text.tokens.size(), 40);
    if (temperature == 0) {
      EXPECT_EQ(text.tokens, plain.tokens);
    }
  }
}

// Tokens that nothing drew at random leave the text of a seed as it is.
TEST(Speculation, LookupKeepsTheTextOfASeed) {
  const Compiled& compiled = toy(3);
  auto engine = compiled.engine();
  auto speculation = speculation_of(Lookup::create(1));
  GenerateOptions options;
  options.max_tokens = 60;
  for (const uint64_t seed : {1, 2, 3}) {
    options.sampler = {.temperature = 0.4, .seed = seed};
    options.speculation = nullptr;
    const Tokens plain = unwrap(engine->generate(Tokens{1, 2, 3}, options)).tokens;
    options.speculation = speculation.get();
    const Generation text = unwrap(engine->generate(Tokens{1, 2, 3}, options));
    EXPECT_EQ(text.tokens, plain);
    EXPECT_GT(text.speculation.verify_steps, 0);
  }
}

// A decoder whose logits are near those of another.
ToyDecoder similar_to(ToyDecoder decoder) {
  for (auto& [name, weight] : decoder.weights) {
    HostTensor changed = HostTensor::zeros(weight.dtype(), weight.shape());
    for (int64_t i = 0; i < weight.size(); ++i) {
      changed.set_f64(i, weight.at_f64(i) * (1 + 0.2 * std::sin(static_cast<double>(i))));
    }
    weight = changed;
  }
  return decoder;
}

constexpr double kTemperature = 1.5;
constexpr int64_t kKept = 4;

// The probabilities of the tokens that follow a text, of which kKept are left.
std::map<int32_t, double> next_tokens(const ToyDecoder& model, const Tokens& text) {
  const std::vector<double> logits = model.logits(text).back();
  std::vector<std::pair<double, int32_t>> order;
  for (size_t i = 0; i < logits.size(); ++i) {
    order.emplace_back(-logits[i], static_cast<int32_t>(i));
  }
  std::ranges::sort(order);
  order.resize(kKept);
  std::map<int32_t, double> all;
  double sum = 0;
  for (const auto& [minus, token] : order) sum += all[token] = std::exp(-minus / kTemperature);
  for (auto& [token, p] : all) p /= sum;
  return all;
}

// The probabilities of all texts of `count` more tokens.
std::map<Tokens, double> continuations(const ToyDecoder& model, const Tokens& prompt,
                                       int64_t count) {
  std::map<Tokens, double> all = {{{}, 1}};
  for (; count > 0; --count) {
    std::map<Tokens, double> longer;
    for (const auto& [text, p] : all) {
      Tokens whole = prompt;
      whole.insert(whole.end(), text.begin(), text.end());
      for (const auto& [token, q] : next_tokens(model, whole)) {
        Tokens one = text;
        one.push_back(token);
        longer[one] = p * q;
      }
    }
    all = std::move(longer);
  }
  return all;
}

// The frequencies of texts of four tokens, of which a draft model proposes the second and third.
TEST(Speculation, DrawnTextsHaveTheModelsDistribution) {
  const Compiled& compiled = toy(1);
  const Compiled other(similar_to(compiled.model));
  auto engine = compiled.engine(), draft = other.engine();
  auto speculation = speculation_of(DraftModel::create(*draft, engine->model()));
  const Tokens prompt = {7, 8, 9};
  constexpr int kTexts = 3000;
  std::map<Tokens, int> found;
  GenerateOptions options;
  options.max_tokens = 4;
  options.speculation = speculation.get();
  int64_t accepted = 0, proposed = 0;
  for (uint64_t seed = 0; seed < kTexts; ++seed) {
    options.sampler = {.temperature = kTemperature, .top_k = kKept, .seed = seed};
    const Generation text = unwrap(engine->generate(prompt, options));
    ++found[text.tokens];
    accepted += text.speculation.accepted;
    proposed += text.speculation.proposed;
  }
  // Texts that are expected fewer than 8 times count as one.
  double chi_square = 0, rare = 0, rare_found = 0;
  int degrees = 0, counted = 0;
  for (const auto& [text, p] : continuations(compiled.model, prompt, options.max_tokens)) {
    const double count = p * kTexts;
    counted += found[text];
    if (count < 8) {
      rare += count;
      rare_found += found[text];
      continue;
    }
    chi_square += (found[text] - count) * (found[text] - count) / count;
    ++degrees;
  }
  if (rare > 0) chi_square += (rare_found - rare) * (rare_found - rare) / rare;
  EXPECT_EQ(counted, kTexts) << "texts of tokens that top-k leaves out";
  EXPECT_GT(degrees, 30);
  EXPECT_LT(chi_square, degrees + 4 * std::sqrt(2.0 * degrees));
  EXPECT_GT(accepted, proposed / 4);
  EXPECT_LT(accepted, proposed * 19 / 20);
}

TEST(Speculation, ASeedDeterminesTheText) {
  const Compiled &compiled = toy(1), &other = toy(2);
  auto engine = compiled.engine(), draft = other.engine();
  // It measures, and stays on.
  auto speculation = speculation_of(DraftModel::create(*draft, engine->model()), {});
  GenerateOptions options;
  options.max_tokens = 80;
  options.speculation = speculation.get();
  std::map<uint64_t, Tokens> texts;
  for (const uint64_t seed : {1, 2, 1, 2}) {
    options.sampler = {.temperature = 1, .seed = seed};
    const Generation text = unwrap(engine->generate(Tokens{1, 2, 3}, options));
    const auto [known, is_new] = texts.emplace(seed, text.tokens);
    EXPECT_EQ(text.tokens, known->second);
    EXPECT_FALSE(text.speculation.stopped_after.has_value());
    EXPECT_GE(text.speculation.plain_steps, Pace::kPlainSteps);
  }
  EXPECT_NE(texts[1], texts[2]);
}

TEST(Speculation, RefusesStateThatForgetsNothing) {
  const auto session = open_processor();
  const auto engine_of = [&](const auto& model) {
    return unwrap(Engine::create(
        *session, pipeline::compile(model.module, target::parse_target("cpu")), model.weights));
  };
  const auto expect = [](const auto& result, const std::vector<std::string>& parts) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().to_string();
    testing::expect_parts(result.error(), parts);
  };
  auto recurrent = engine_of(testing::toy_recurrent_model(1));
  const Compiled &compiled = toy(1), &window = toy(5, 6);
  auto engine = compiled.engine(), windowed = window.engine();
  expect(DraftModel::create(*recurrent, engine->model()), {"draft model", "recurrent state"});
  expect(DraftModel::create(*windowed, engine->model()), {"draft model", "window", "--lookup"});
  auto speculation = speculation_of(Lookup::create(2));
  GenerateOptions options;
  options.speculation = speculation.get();
  expect(recurrent->generate(Tokens{1, 2}, options), {"cannot check proposed tokens", "recurrent"});
  expect(engine->generate_batch(std::vector<Tokens>{{1}, {2}}, options), {"one text only"});
}

}  // namespace
}  // namespace tapml::llm
