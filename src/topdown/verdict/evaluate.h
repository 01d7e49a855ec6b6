// How well a model does on tasks, on one platform and beside another.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/json.h"
#include "llm/engine.h"
#include "topdown/verdict/eval_tasks.h"

namespace tapml::topdown {

// A task's continuations as a model sees them.
struct ScoredTask {
  EvalTask task;
  std::vector<ScoredText> texts;
};

struct TaskScore {
  bool correct = false;  // never for perplexity
  double nll = 0;        // sum over the scored tokens of the right continuation, in nats
  int64_t tokens = 0;    // that were scored of it
  int64_t choice = -1;   // multiple choice: the likeliest
};

// Sums over tasks.
struct EvalTotal {
  int64_t tasks = 0, correct = 0;
  int64_t tokens = 0;
  double nll = 0;

  void add(const TaskScore& score);
  double mean_nll() const;    // nats a token
  double perplexity() const;  // exp(mean_nll())
};

struct Evaluation {
  std::string target;
  std::vector<TaskScore> scores;  // in the tasks' order
  std::map<TaskKind, EvalTotal> kinds;
  EvalTotal total;
  // The first task whose logits, or the log probability of its answer, are not finite, and the
  // kernel where that began; empty: none.
  std::string failure;
  double seconds = 0;

  int64_t judged() const;  // tasks that have a right and a wrong outcome
};

// The log probability in nats that logits f32[tokens, vocabulary] of `text` give its scored tokens,
// and whether each of them is the likeliest (the lowest id of equal ones).
struct TextScore {
  double nll = 0;
  bool greedy = true;
};
TextScore score_text(const HostTensor& logits, const ScoredText& text);

// `before`, where given, is called before each task: what it throws ends the evaluation. Throws.
Evaluation evaluate(llm::Engine& engine, const std::vector<ScoredTask>& tasks,
                    const std::function<void(size_t task)>& before = {});

// What a target may differ from the reference in.
inline constexpr int64_t kMostTasksOff = 3;
inline constexpr double kMostNllOff = 1e-3;

struct EvalComparison {
  std::vector<std::string> flipped;  // ids of tasks that are right on one of the two only
  int64_t tasks_off = 0;             // difference of the numbers of right tasks
  double nll_off = 0;                // relative difference of the mean negative log-likelihood
  bool passed = false;
};
EvalComparison compare_evaluations(const std::vector<ScoredTask>& tasks,
                                   const Evaluation& evaluation, const Evaluation& reference);

// `comparison` may be null.
Json evaluation_json(const std::vector<ScoredTask>& tasks, const Evaluation& evaluation,
                     const EvalComparison* comparison);

}  // namespace tapml::topdown
