#include "topdown/evaluate/evaluate.h"

#include <cmath>

#include "base/clock.h"
#include "ir/exceptions.h"
#include "topdown/results/json_archive.h"

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
    TaskScore score;
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
    result.kinds[task.task.kind].add(score);
    result.total.add(score);
    result.scores.push_back(score);
  }
  result.seconds = seconds_now() - start;
  return result;
}

EvalComparison compare_evaluations(const std::vector<ScoredTask>& tasks,
                                   const Evaluation& evaluation, const Evaluation& reference) {
  EvalComparison result;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (evaluation.scores[i].correct != reference.scores[i].correct) {
      result.flipped.push_back(tasks[i].task.id);
    }
  }
  result.tasks_off = std::abs(evaluation.total.correct - reference.total.correct);
  const double is = evaluation.total.mean_nll(), was = reference.total.mean_nll();
  result.nll_off = is == was ? 0 : std::abs(is - was) / std::abs(was);
  // Not `>`, which a NaN would pass.
  result.passed = evaluation.failure.empty() && std::isfinite(is) &&
                  result.tasks_off <= kMostTasksOff && result.nll_off <= kMostNllOff;
  return result;
}

Json evaluation_json(const std::vector<ScoredTask>& tasks, const Evaluation& evaluation,
                     const EvalComparison* comparison) {
  auto total = [](const EvalTotal& sum, bool scored) {
    Json json = Json::object({{"tasks", Json::integer(sum.tasks)},
                              {"tokens", Json::integer(sum.tokens)},
                              {"nll", real(sum.mean_nll())},
                              {"perplexity", real(sum.perplexity())}});
    if (scored) json.set("correct", Json::integer(sum.correct));
    return json;
  };
  Json json = total(evaluation.total, true);
  json.set("target", Json::string(evaluation.target));
  json.set("scored", Json::integer(evaluation.scored()));
  Json kinds = Json::object();
  for (const auto& [kind, sum] : evaluation.kinds) {
    kinds.set(task_kind_name(kind), total(sum, kind != TaskKind::kPerplexity));
  }
  json.set("kinds", std::move(kinds));
  std::vector<Json> results;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskScore& score = evaluation.scores[i];
    Json one = Json::object({{"id", Json::string(tasks[i].task.id)},
                             {"nll", real(score.nll)},
                             {"tokens", Json::integer(score.tokens)}});
    if (tasks[i].task.kind != TaskKind::kPerplexity) {
      one.set("correct", Json::boolean(score.correct));
    }
    if (score.choice >= 0) one.set("choice", Json::integer(score.choice));
    results.push_back(std::move(one));
  }
  json.set("results", Json::array(std::move(results)));
  json.set("failure", Json::string(evaluation.failure));
  json.set("seconds", real(evaluation.seconds));
  if (comparison) {
    std::vector<Json> flipped;
    for (const std::string& id : comparison->flipped) flipped.push_back(Json::string(id));
    json.set("passed", Json::boolean(comparison->passed));
    json.set("flipped", Json::array(std::move(flipped)));
    json.set("tasks_off", Json::integer(comparison->tasks_off));
    json.set("nll_off", real(comparison->nll_off));
  }
  return json;
}

}  // namespace tapml::topdown
