// Evaluates a model on tasks, alone and compared with another platform.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "llm/engine.h"
#include "topdown/evaluate/eval_tasks.h"
#include "topdown/results/evaluation.h"

namespace tapml::topdown {

// A task as tokens: its continuations or, of a program, what the model continues.
struct ScoredTask {
  EvalTask task;
  std::vector<ScoredText> texts;
  std::vector<int32_t> prompt;
};

// How a model writes programs, and who runs them.
struct ProgramWriting {
  const ProgramRunner* runner = nullptr;
  const Tokenizer* tokenizer = nullptr;
  std::vector<int32_t> end_tokens;
  int64_t max_tokens = 0;
  bool chat = false;  // the prompts are conversations
};

// The log probability in nats that logits f32[tokens, vocabulary] of `text` give its scored tokens,
// and whether each of them is the most likely (of equal ones, the lowest id).
struct TextScore {
  double nll = 0;
  bool greedy = true;
};
TextScore score_text(const HostTensor& logits, const ScoredText& text);

// `before`, if given, is called before each task; an exception from it ends the evaluation.
// `programs` is needed for tasks of that kind. With `reference`, an evaluation of the same tasks,
// programs are compared with its token by token. Throws.
Evaluation evaluate(llm::Engine& engine, const std::vector<ScoredTask>& tasks,
                    const std::function<void(size_t task)>& before = {},
                    const ProgramWriting& programs = {}, const Evaluation* reference = nullptr);

// Of the same tasks.
EvalComparison compare_evaluations(const Evaluation& evaluation, const Evaluation& reference);

}  // namespace tapml::topdown
