// Evaluation: task files, scores computed by hand, and the pass criteria between platforms.
#include "topdown/evaluate/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "topdown/evaluate/quantization_cost.h"
#include "topdown/reference_run/divergence.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

TEST(EvalTasks, EveryKindIsRead) {
  const std::vector<EvalTask> tasks = parse_tasks(
      "{\"kind\": \"perplexity\", \"text\": \"a b\"}\n"
      "\n"
      "{\"kind\": \"exact_match\", \"id\": \"x\", \"prompt\": \"p\", \"answer\": \" q\"}\r\n"
      "{\"kind\": \"multiple_choice\", \"prompt\": \"p\", \"choices\": [\"a\", \"b\"], "
      "\"answer\": 1}",
      "t.jsonl");
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].id, "1");
  EXPECT_EQ(tasks[0].kind, TaskKind::kPerplexity);
  EXPECT_EQ(tasks[0].prompt, "");
  EXPECT_EQ(tasks[0].continuations, std::vector<std::string>{"a b"});
  EXPECT_EQ(tasks[1].id, "x");
  EXPECT_EQ(tasks[1].line, 3);
  EXPECT_EQ(tasks[1].continuations, std::vector<std::string>{" q"});
  EXPECT_EQ(tasks[2].id, "4");
  EXPECT_EQ(tasks[2].answer, 1u);
  EXPECT_EQ(tasks[2].continuations, (std::vector<std::string>{"a", "b"}));
}

TEST(EvalTasks, BadFilesAreRefusedWithTheLine) {
  const std::string good = "{\"kind\": \"perplexity\", \"text\": \"a\"}\n\n";
  struct Case {
    const char* line;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"{\"kind\": \"perplexity\"", {"t.jsonl:3:", "not valid JSON"}},
      {"[1]", {"t.jsonl:3:1", "an object"}},
      {"{\"text\": \"a\"}", {"t.jsonl:3:1", "\"kind\" is missing", "exact_match"}},
      {"{\"kind\": \"poem\"}", {"t.jsonl:3:10", "multiple_choice", "poem"}},
      {"{\"kind\": \"perplexity\", \"text\": \"\"}", {"t.jsonl:3:", "\"text\" is empty"}},
      {"{\"kind\": \"perplexity\", \"text\": 1}", {"t.jsonl:3:", "a string"}},
      {"{\"kind\": \"perplexity\", \"text\": \"a\", \"prompt\": \"b\"}",
       {"t.jsonl:3:", "\"prompt\" is unknown"}},
      {"{\"kind\": \"exact_match\", \"prompt\": \"a\"}", {"t.jsonl:3:", "\"answer\" is missing"}},
      {"{\"kind\": \"exact_match\", \"prompt\": \"\", \"answer\": \"b\"}",
       {"t.jsonl:3:", "\"prompt\" is empty"}},
      {"{\"kind\": \"multiple_choice\", \"prompt\": \"a\", \"choices\": [\"b\"], \"answer\": 0}",
       {"t.jsonl:3:", "too few"}},
      {"{\"kind\": \"multiple_choice\", \"prompt\": \"a\", \"choices\": [\"b\", \"b\"], "
       "\"answer\": 0}",
       {"t.jsonl:3:", "duplicate"}},
      {"{\"kind\": \"multiple_choice\", \"prompt\": \"a\", \"choices\": [\"b\", \"c\"], "
       "\"answer\": 2}",
       {"t.jsonl:3:", "\"answer\"", "1", "2"}},
      {"{\"kind\": \"perplexity\", \"text\": \"a\", \"id\": \"1\"}",
       {"t.jsonl:3", "two tasks have the same id", "\"1\""}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    testing::expect_user_error([&] { parse_tasks(good + one.line, "t.jsonl"); }, one.parts);
  }
  for (const char* none : {"", "\n \n"}) {
    testing::expect_user_error([&] { parse_tasks(none, "t.jsonl"); }, {"t.jsonl", "no tasks"});
  }
}

HostTensor logits(const std::vector<float>& values, int64_t vocabulary) {
  return HostTensor::from<float>(
      DType::kF32, {static_cast<int64_t>(values.size()) / vocabulary, vocabulary}, values);
}

TEST(Evaluate, ScoresAreLogProbabilities) {
  // Probabilities 1/2, 1/4, 1/4 after token 0, and 1/8, 7/8 (for 0, 1) after token 1.
  const auto log_of = [](double p) { return static_cast<float>(std::log(p)); };
  const HostTensor rows = logits(
      {log_of(0.5), log_of(0.25), log_of(0.25), log_of(0.125), log_of(0.875), -1e30F, 9, 9, 9}, 3);
  const TextScore both = score_text(rows, {{0, 1, 1}, 1});
  EXPECT_NEAR(both.nll, -std::log(0.25) - std::log(0.875), 1e-7);
  EXPECT_FALSE(both.greedy);
  const TextScore last = score_text(rows, {{0, 1, 1}, 2});
  EXPECT_NEAR(last.nll, -std::log(0.875), 1e-7);
  EXPECT_TRUE(last.greedy);
  // Among equal tokens the lowest is the most likely.
  EXPECT_FALSE(score_text(logits({1, 3, 3}, 3), {{0, 2}, 1}).greedy);
  EXPECT_TRUE(score_text(logits({1, 3, 3}, 3), {{0, 1}, 1}).greedy);
  const float nan = std::nanf("");
  EXPECT_TRUE(std::isnan(score_text(logits({1, nan, 3}, 3), {{0, 2}, 1}).nll));
  EXPECT_FALSE(score_text(logits({1, nan, 3}, 3), {{0, 2}, 1}).greedy);
  EXPECT_FALSE(score_text(logits({nan, nan, nan}, 3), {{0, 2}, 1}).greedy);
}

TEST(Evaluate, TheModelsOwnContinuationIsRight) {
  auto engine = small_model().engine();
  llm::GenerateOptions generate;
  generate.max_tokens = 4;
  std::vector<int32_t> tokens = kPrompt;
  for (int32_t token : unwrap(engine->generate(kPrompt, generate)).tokens) tokens.push_back(token);
  std::vector<int32_t> wrong = tokens;
  wrong.back() = (wrong.back() + 1) % 400;
  auto task = [](TaskKind kind, std::vector<std::vector<int32_t>> texts, size_t answer) {
    ScoredTask result;
    result.task.kind = kind;
    result.task.answer = answer;
    for (auto& text : texts) result.texts.push_back({std::move(text), kPrompt.size()});
    return result;
  };
  const std::vector<ScoredTask> tasks = {task(TaskKind::kExactMatch, {tokens}, 0),
                                         task(TaskKind::kExactMatch, {wrong}, 0),
                                         task(TaskKind::kMultipleChoice, {wrong, tokens}, 1),
                                         task(TaskKind::kMultipleChoice, {wrong, tokens}, 0),
                                         task(TaskKind::kPerplexity, {tokens}, 0)};
  const Evaluation result = evaluate(*engine, tasks);
  std::vector<bool> correct;
  for (const TaskScore& score : result.scores) correct.push_back(score.correct);
  EXPECT_EQ(correct, (std::vector<bool>{true, false, true, false, false}));
  EXPECT_EQ(result.scores[3].choice, 1);
  EXPECT_EQ(result.total.correct, 2);
  EXPECT_EQ(result.scored(), 4);
  EXPECT_EQ(result.kinds.at(TaskKind::kExactMatch).correct, 1);
  EXPECT_EQ(result.scores[0].nll, result.scores[4].nll);
  EXPECT_LT(result.scores[0].nll, result.scores[1].nll);
  EXPECT_EQ(result.scores[0].tokens, 4);
  const EvalTotal& text = result.kinds.at(TaskKind::kPerplexity);
  EXPECT_DOUBLE_EQ(text.perplexity(), std::exp(result.scores[4].nll / 4));
}

// Twenty tasks of one token, of which the first `correct` are right.
Evaluation evaluation(int64_t correct, double nll) {
  Evaluation result;
  for (int64_t i = 0; i < 20; ++i) {
    result.add({.id = "t" + std::to_string(i),
                .kind = TaskKind::kExactMatch,
                .correct = i < correct,
                .nll = nll,
                .tokens = 1});
  }
  return result;
}

TEST(Evaluate, TheLimitsAreThreeTasksAndAThousandth) {
  const Evaluation reference = evaluation(10, 2);
  auto against = [&](int64_t correct, double nll) {
    return compare_evaluations(evaluation(correct, nll), reference);
  };
  EXPECT_TRUE(against(10, 2).passed);
  EXPECT_EQ(against(10, 2).nll_off, 0);
  EXPECT_TRUE(against(13, 2).passed);
  EXPECT_TRUE(against(7, 2).passed);
  EXPECT_FALSE(against(14, 2).passed);
  EXPECT_FALSE(against(6, 2).passed);
  EXPECT_EQ(against(8, 2).flipped, (std::vector<std::string>{"t8", "t9"}));
  EXPECT_EQ(against(8, 2).tasks_off, 2);
  EXPECT_TRUE(against(10, 2.0019).passed);
  EXPECT_FALSE(against(10, 2.0021).passed);
  EXPECT_FALSE(against(10, 1.9979).passed);
  EXPECT_FALSE(against(10, std::numeric_limits<double>::quiet_NaN()).passed);
  Evaluation failed = evaluation(10, 2);
  failed.failure = "task t3: NaN";
  EXPECT_FALSE(compare_evaluations(failed, reference).passed);
}

TEST(Evaluate, NaNOfAWrongChoiceIsAFailureToo) {
  auto engine = unwrap(
      llm::Engine::create(*small_model().session, small_model().executable, weights_with_nan()));
  ScoredTask task;
  task.task.id = "broken";
  task.task.kind = TaskKind::kMultipleChoice;
  task.texts = {{{1, 2, 3}, 2}, {{1, 2, 4}, 2}};
  const Evaluation result = evaluate(*engine, {task, task});
  EXPECT_NE(result.failure.find("task broken: the model's logits are not numbers"),
            std::string::npos)
      << result.failure;
  EXPECT_NE(result.failure.find("model.norm"), std::string::npos) << result.failure;
  EXPECT_EQ(result.total.correct, 0);
}

TEST(QuantizationCost, OfKnownErrors) {
  const HostTensor weight =
      HostTensor::from<float>(DType::kF32, {1, 32}, std::vector<float>(32, 2));
  HostTensor packed = HostTensor::zeros(DType::kU8, {1, 16}), scales = weight;
  // Level 3 of scale 0.5: 1.5 instead of 2.
  std::ranges::fill(packed.mutable_values<uint8_t>(), uint8_t{11 * 17});
  scales = HostTensor::from<float>(DType::kF32, {1, 1}, std::vector<float>{0.5f});
  EXPECT_DOUBLE_EQ(weight_error({{"w", weight}, {"norm", weight}},
                                {{"w.packed", packed}, {"w.scales", scales}, {"norm", weight}}),
                   0.25);
  EXPECT_EQ(weight_error({{"norm", weight}}, {{"norm", weight}}), 0);
  const std::vector<double> a = {0, 0}, b = {0, std::log(3.0)};
  EXPECT_NEAR(divergence(a, b), 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75), 1e-12);
  EXPECT_EQ(divergence(b, b), 0);
}

}  // namespace
}  // namespace tapml::topdown
