#include "topdown/evaluate/evaluate.h"

#include <cmath>

#include "base/clock.h"
#include "ir/exceptions.h"

namespace tapml::topdown {

TextScore score_text(const HostTensor& logits, const ScoredText& text) {
  TextScore score;
  const int64_t vocabulary = logits.shape().back();
  for (size_t i = text.first; i < text.tokens.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i - 1) * vocabulary, token = text.tokens[i];
    double peak = -std::numeric_limits<double>::infinity();
    int64_t most_likely = 0;
    for (int64_t v = 0; v < vocabulary; ++v) {
      const double value = logits.at_f64(row + v);
      if (!(value > peak)) continue;
      peak = value;
      most_likely = v;
    }
    double sum = 0;
    // A NaN anywhere makes the sum NaN, and nothing is right then.
    for (int64_t v = 0; v < vocabulary; ++v) sum += std::exp(logits.at_f64(row + v) - peak);
    score.nll += peak + std::log(sum) - logits.at_f64(row + token);
    score.greedy &= most_likely == token && std::isfinite(sum);
  }
  return score;
}

namespace {

void note_failure(Evaluation& evaluation, const ScoredTask& task, const Status& status) {
  if (status || !evaluation.failure.empty()) return;
  if (status.error().kind != ErrorKind::kUser) throw_error(status.error());
  evaluation.failure = "task " + task.task.id + ": " + status.error().message;
}

}  // namespace

Evaluation evaluate(llm::Engine& engine, const std::vector<ScoredTask>& tasks,
                    const std::function<void(size_t task)>& before) {
  const double start = seconds_now();
  Evaluation result;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (before) before(i);
    const ScoredTask& task = tasks[i];
    TaskScore score = {.id = task.task.id, .kind = task.task.kind};
    double least = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < task.texts.size(); ++c) {
      const ScoredText& text = task.texts[c];
      engine.reset();
      const HostTensor logits = unwrap(engine.logits_all(text.tokens));
      if (result.failure.empty()) note_failure(result, task, engine.check_logits(logits));
      const TextScore found = score_text(logits, text);
      if (c == task.task.answer) {
        if (!std::isfinite(found.nll)) {
          note_failure(result, task,
                       fail(user_error("the answer's log probability is not finite")));
        }
        score.nll = found.nll;
        score.tokens = std::ssize(text.tokens) - static_cast<int64_t>(text.first);
        score.correct = task.task.kind == TaskKind::kExactMatch && found.greedy;
      }
      if (found.nll < least) {
        least = found.nll;
        score.choice = static_cast<int64_t>(c);
      }
    }
    if (task.task.kind == TaskKind::kMultipleChoice) {
      score.correct = score.choice == static_cast<int64_t>(task.task.answer);
    } else {
      score.choice = -1;
    }
    result.add(std::move(score));
  }
  result.seconds = seconds_now() - start;
  return result;
}

EvalComparison compare_evaluations(const Evaluation& evaluation, const Evaluation& reference) {
  EvalComparison result;
  for (size_t i = 0; i < evaluation.scores.size(); ++i) {
    const TaskScore& score = evaluation.scores[i];
    if (score.correct != reference.scores[i].correct) result.flipped.push_back(score.id);
  }
  result.tasks_off = std::abs(evaluation.total.correct - reference.total.correct);
  const double is = evaluation.total.mean_nll(), was = reference.total.mean_nll();
  result.nll_off = is == was ? 0 : std::abs(is - was) / std::abs(was);
  // Not `>`, which a NaN would pass.
  result.passed = evaluation.failure.empty() && std::isfinite(is) &&
                  result.tasks_off <= kMostTasksOff && result.nll_off <= kMostNllOff;
  return result;
}

}  // namespace tapml::topdown
