// What proposes tokens, and whether that pays, without a model.
#include <gtest/gtest.h>

#include "../tokenizer/sample_tokenizer.h"
#include "ir/exceptions.h"
#include "llm/speculation/lookup.h"
#include "llm/speculation/pace.h"
#include "llm/speculation/same_vocabulary.h"
#include "llm/speculation/speculation.h"
#include "support/expect_error.h"

namespace tapml::llm {
namespace {

using Tokens = std::vector<int32_t>;

Tokens looked_up(int64_t matched, const Tokens& text, int64_t count) {
  const auto lookup = unwrap(Lookup::create(matched));
  EXPECT_FALSE(lookup->draws());
  const Proposal proposal = unwrap(lookup->propose(text, count));
  EXPECT_TRUE(proposal.drawn_from.empty());
  return proposal.tokens;
}

template <class T>
void expect_refused_with(const Result<T>& result, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result) << "expected an error about " << parts[0];
  EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().to_string();
  testing::expect_parts(result.error(), parts);
}

TEST(LookupProposer, TakesWhatFollowedTheLastSuchPlace) {
  const Tokens text = {1, 2, 3, 9, 1, 2, 4, 8, 7, 1, 2};
  EXPECT_EQ(looked_up(2, text, 4), (Tokens{4, 8, 7, 1}));
  EXPECT_EQ(looked_up(2, text, 2), (Tokens{4, 8}));
  EXPECT_EQ(looked_up(1, text, 1), (Tokens{4}));
  EXPECT_EQ(looked_up(3, text, 4), Tokens{});
  // The place may overlap the end, and the text may end before enough tokens.
  EXPECT_EQ(looked_up(2, {5, 5, 5, 5}, 4), (Tokens{5}));
  EXPECT_EQ(looked_up(1, {5, 6, 5}, 9), (Tokens{6, 5}));
  EXPECT_EQ(looked_up(2, {5, 5}, 4), Tokens{});
  EXPECT_EQ(looked_up(4, {5}, 4), Tokens{});
}

TEST(LookupProposer, RefusesNumbersOutOfRange) {
  expect_refused_with(Lookup::create(0), {"look up", "1 to 64", "0"});
  expect_refused_with(Lookup::create(65), {"look up", "65"});
  const auto of = [](int64_t tokens) {
    return Speculation::create(unwrap(Lookup::create(2)), {.tokens = tokens});
  };
  expect_refused_with(of(0), {"the number of tokens to propose", "1 to 64", "0"});
  expect_refused_with(of(65), {"65"});
}

TEST(SpeculationPace, ComparesTokensASecond) {
  Pace pace;
  pace.plain(100);  // the first step does not count
  for (int64_t i = 1; i < Pace::kPlainSteps; ++i) {
    EXPECT_FALSE(pace.knows_plain());
    pace.plain(0.01);
  }
  EXPECT_TRUE(pace.knows_plain());
  EXPECT_DOUBLE_EQ(pace.plain_speed(), 100);
  for (int64_t i = 0; i < Pace::kWarmUp; ++i) pace.verified(100, 1);
  for (int64_t i = 0; i < Pace::kWindow; ++i) {
    EXPECT_FALSE(pace.is_slower());
    pace.verified(0.02, i % 2 == 0 ? 1 : 2);
  }
  EXPECT_DOUBLE_EQ(pace.verified_speed(), 75);
  EXPECT_TRUE(pace.is_slower());
  // One slow step is no reason.
  Pace other;
  for (int64_t i = 0; i < Pace::kPlainSteps; ++i) other.plain(0.01);
  for (int64_t i = 0; i < Pace::kWarmUp + Pace::kWindow; ++i) {
    other.verified(i == 9 ? 5 : 0.02, 3);
  }
  EXPECT_DOUBLE_EQ(other.verified_speed(), 150);
  EXPECT_FALSE(other.is_slower());
}

TEST(SpeculationPace, TurnsSpeculationOffForTheRestOfAText) {
  const Tokens text = {1, 2, 1};
  const auto run = [&](const SpeculationOptions& options) {
    auto speculation = unwrap(Speculation::create(unwrap(Lookup::create(1)), options));
    EXPECT_TRUE(speculation->begin(text, {}).has_value());
    int64_t proposals = 0;
    for (int i = 0; i < 40; ++i) {
      if (unwrap(speculation->propose(text, 4)).tokens.empty()) {
        speculation->note_plain(1);
      } else {
        ++proposals;
        speculation->note_verified(3, 2, 0, 1);
      }
    }
    return std::pair(proposals, speculation->counts());
  };
  const auto [some, stopped] = run({});
  EXPECT_EQ(some, Pace::kWarmUp + Pace::kWindow);
  EXPECT_TRUE(stopped.stopped_after.has_value());
  EXPECT_TRUE(stopped.slower);
  EXPECT_EQ(stopped.plain_steps, 40 - some);
  EXPECT_EQ(stopped.proposed, 2 * some);
  EXPECT_EQ(stopped.acceptance(), 0);
  EXPECT_EQ(stopped.tokens_per_verify(), 1);
  const auto [all, kept] = run({.keep = true});
  EXPECT_EQ(all, 40);
  EXPECT_FALSE(kept.stopped_after.has_value());
}

TEST(SameVocabulary, NamesTheFirstDifference) {
  using tokenizer::json_of;
  using tokenizer::make_tokenizer;
  const Tokenizer model = make_tokenizer(tokenizer::sample_json());
  EXPECT_TRUE(check_same_vocabulary(model, make_tokenizer(tokenizer::sample_json())));
  const auto added = [](std::string_view content, bool special) {
    Json token = json_of(R"({"id": 261, "single_word": false, "lstrip": false, "rstrip": false,
                             "normalized": false})");
    token.set("content", Json::string(std::string(content)));
    token.set("special", Json::boolean(special));
    Json file = tokenizer::sample_json();
    file.set("added_tokens", Json::array({token}));
    return file;
  };
  expect_refused_with(check_same_vocabulary(model, make_tokenizer(added("<|x|>", false))),
                      {"another vocabulary", "token 260 \"<s>\", a special token", "no token 260"});
  Json fewer = tokenizer::sample_json();
  fewer.set("added_tokens", json_of("[]"));
  expect_refused_with(check_same_vocabulary(model, make_tokenizer(fewer)),
                      {"262 tokens", "260 tokens", "--lookup"});
}

}  // namespace
}  // namespace tapml::llm
