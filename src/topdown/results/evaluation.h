// How well a model does on tasks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tapml::topdown {

enum class TaskKind : uint8_t {
  kPerplexity,      // how likely a text is
  kExactMatch,      // whether the most likely continuation is the answer
  kMultipleChoice,  // whether the right one of several continuations is the most likely
  kProgram,         // whether a program that the model writes passes its tests
};
inline constexpr TaskKind kTaskKinds[] = {TaskKind::kPerplexity, TaskKind::kExactMatch,
                                          TaskKind::kMultipleChoice, TaskKind::kProgram};
// "perplexity", "exact_match", "multiple_choice", "program"
const char* task_kind_name(TaskKind kind);

// What became of a program.
struct ProgramOutcome {
  bool passed = false;
  std::string message;  // why it did not pass: its last line, such as the exception
};

// What the model wrote for a program.
struct WrittenProgram {
  std::string code;
  std::vector<int32_t> tokens;  // all that it wrote
  std::string message;          // of the outcome
  // The first token that is not the reference's (-1: none), and by how much its logit is above that
  // of the reference's token here.
  int64_t differs_at = -1;
  double margin = 0;
};

struct TaskScore {
  std::string id;
  TaskKind kind = TaskKind::kPerplexity;
  bool correct = false;  // never for perplexity
  double nll = 0;        // sum over the scored tokens of the right continuation, in nats
  int64_t tokens = 0;    // scored tokens of that continuation
  int64_t choice = -1;   // multiple choice: the most likely continuation
  std::optional<WrittenProgram> program;  // of a program, which has no scored tokens
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

// How far a target may differ from the reference.
inline constexpr int64_t kMostTasksOff = 3;
inline constexpr double kMostNllOff = 1e-3;

struct EvalComparison {
  std::vector<std::string> flipped;  // ids of tasks that only one of the two answers right
  int64_t tasks_off = 0;             // difference in the number of right tasks
  double nll_off = 0;                // relative difference of the mean negative log-likelihood
  bool passed = false;
};

struct Evaluation {
  std::string target;
  std::vector<TaskScore> scores;  // in the tasks' order
  // The sums of the scores.
  std::map<TaskKind, EvalTotal> kinds;
  EvalTotal total;
  // The first task with logits, or a log probability of its answer, that are not finite, and the
  // kernel where that began; empty: none.
  std::string failure;
  double seconds = 0;
  std::optional<EvalComparison> comparison;  // with the reference, if there is one

  void add(TaskScore score);
  int64_t scored() const;  // tasks that are right or wrong
};

// The cost of quantized weights for a model's quality.
struct QuantizationCost {
  // Root mean square of the errors of quantized weights, divided by that of the weights.
  double weight_error = 0;
  int64_t positions = 0;  // scored tokens
  // Divergence of the next token's distribution from that of the unquantized model, in nats.
  double kl_mean = 0, kl_max = 0;
  double nll = 0;  // of the unquantized model, nats per token
};

// A model on several targets.
struct Evaluated {
  std::string tasks;  // their file
  // The target that the others are compared with; empty: none. Its evaluation comes first, unless
  // it is one of the requested ones.
  std::string reference;
  std::vector<Evaluation> evaluations;
  // If requested: on the first target, if nothing failed.
  std::optional<QuantizationCost> cost;

  // All logits are finite, and agree with the reference.
  bool passed() const;
};

}  // namespace tapml::topdown
