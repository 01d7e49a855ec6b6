#include "topdown/evaluate/evaluate.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "ir/exceptions.h"
#include "llm/chat_session.h"

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

// By how much the logit of `written` at `place` is above that of the reference's token.
double margin_at(llm::Engine& engine, const std::vector<int32_t>& prompt,
                 const std::vector<int32_t>& written, size_t place, int32_t expected) {
  std::vector<int32_t> tokens = prompt;
  tokens.insert(tokens.end(), written.begin(), written.begin() + static_cast<int64_t>(place));
  engine.reset();
  const HostTensor logits = unwrap(engine.logits_all(tokens));
  const int64_t row = (std::ssize(tokens) - 1) * logits.shape().back();
  return logits.at_f64(row + written[place]) - logits.at_f64(row + expected);
}

// One of the texts may end first, which has no token to compare.
void compare_with(llm::Engine& engine, const ScoredTask& task, const WrittenProgram& reference,
                  WrittenProgram& program) {
  const auto apart = std::ranges::mismatch(program.tokens, reference.tokens);
  if (apart.in1 == program.tokens.end() && apart.in2 == reference.tokens.end()) return;
  program.differs_at = apart.in1 - program.tokens.begin();
  if (apart.in1 == program.tokens.end() || apart.in2 == reference.tokens.end()) return;
  program.margin = margin_at(engine, task.prompt, program.tokens,
                             static_cast<size_t>(program.differs_at), *apart.in2);
}

// Lets the model write a program, and runs it.
TaskScore program_score(llm::Engine& engine, const ScoredTask& task,
                        const ProgramWriting& programs) {
  llm::ChatSession session(engine, *programs.tokenizer, nullptr, programs.end_tokens);
  llm::AnswerOptions options;
  options.max_tokens = programs.max_tokens;
  if (!programs.chat) options.stop = program_stops(task.task.program);
  engine.reset();
  llm::Answer answer = unwrap(session.answer(task.prompt, options));
  if (answer.end == llm::AnswerEnd::kCancelled) {
    throw_error(platform_error(PlatformFault::kCancelled, "interrupted"));
  }
  WrittenProgram program;
  program.code =
      programs.chat ? code_of_answer(answer.text, task.task.program.name) : std::move(answer.text);
  program.tokens = std::move(answer.tokens);
  ProgramOutcome outcome = unwrap(programs.runner->run(task.task.program, program.code));
  program.message = std::move(outcome.message);
  TaskScore score = {.id = task.task.id, .kind = TaskKind::kProgram, .correct = outcome.passed};
  score.program = std::move(program);
  return score;
}

}  // namespace

Evaluation evaluate(llm::Engine& engine, const std::vector<ScoredTask>& tasks,
                    const std::function<void(size_t task)>& before, const ProgramWriting& programs,
                    const Evaluation* reference) {
  const double start = seconds_now();
  Evaluation result;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (before) before(i);
    const ScoredTask& task = tasks[i];
    if (task.task.kind == TaskKind::kProgram) {
      TaskScore score = {.id = task.task.id, .kind = TaskKind::kProgram};
      const Status written = guard([&] {
        score = program_score(engine, task, programs);
        if (!reference || !reference->scores[i].program) return;
        compare_with(engine, task, *reference->scores[i].program, *score.program);
      });
      note_failure(result, task, written);
      result.add(std::move(score));
      continue;
    }
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
