#include "topdown/results/evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapml::topdown {

const char* task_kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::kPerplexity:
      return "perplexity";
    case TaskKind::kExactMatch:
      return "exact_match";
    case TaskKind::kMultipleChoice:
      return "multiple_choice";
    case TaskKind::kProgram:
      return "program";
  }
  return "perplexity";
}

void EvalTotal::add(const TaskScore& score) {
  ++tasks;
  correct += score.correct;
  tokens += score.tokens;
  nll += score.nll;
}

double EvalTotal::mean_nll() const { return tokens > 0 ? nll / static_cast<double>(tokens) : 0; }
double EvalTotal::perplexity() const { return std::exp(mean_nll()); }

void Evaluation::add(TaskScore score) {
  kinds[score.kind].add(score);
  total.add(score);
  scores.push_back(std::move(score));
}

bool Evaluated::passed() const {
  return std::ranges::all_of(evaluations, [](const Evaluation& one) {
    return one.failure.empty() && (!one.comparison || one.comparison->passed);
  });
}

int64_t Evaluation::scored() const {
  auto perplexity = kinds.find(TaskKind::kPerplexity);
  return total.tasks - (perplexity == kinds.end() ? 0 : perplexity->second.tasks);
}

}  // namespace tapml::topdown
