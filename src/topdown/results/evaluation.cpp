#include "topdown/results/evaluation.h"

#include <cmath>

namespace tapml::topdown {

const char* task_kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::kPerplexity:
      return "perplexity";
    case TaskKind::kExactMatch:
      return "exact_match";
    case TaskKind::kMultipleChoice:
      return "multiple_choice";
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

int64_t Evaluation::scored() const {
  auto perplexity = kinds.find(TaskKind::kPerplexity);
  return total.tasks - (perplexity == kinds.end() ? 0 : perplexity->second.tasks);
}

}  // namespace tapml::topdown
