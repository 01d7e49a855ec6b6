// Evaluates a model on tasks, alone and compared with another platform.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "llm/engine.h"
#include "topdown/evaluate/eval_tasks.h"
#include "topdown/results/evaluation.h"

namespace tapml::topdown {

// A task's continuations as tokens.
struct ScoredTask {
  EvalTask task;
  std::vector<ScoredText> texts;
};

// The log probability in nats that logits f32[tokens, vocabulary] of `text` give its scored tokens,
// and whether each of them is the most likely (of equal ones, the lowest id).
struct TextScore {
  double nll = 0;
  bool greedy = true;
};
TextScore score_text(const HostTensor& logits, const ScoredText& text);

// `before`, if given, is called before each task; an exception from it ends the evaluation. Throws.
Evaluation evaluate(llm::Engine& engine, const std::vector<ScoredTask>& tasks,
                    const std::function<void(size_t task)>& before = {});

// Of the same tasks.
EvalComparison compare_evaluations(const Evaluation& evaluation, const Evaluation& reference);

}  // namespace tapml::topdown
