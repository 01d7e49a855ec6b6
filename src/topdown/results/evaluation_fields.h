// The JSON fields of an evaluation. Internal to results/.
#pragma once

#include "topdown/results/evaluation.h"
#include "topdown/results/json_archive.h"
#include "topdown/results/verdict_line.h"

namespace tapml::topdown {

template <class A>
void fields(A& a, WrittenProgram& x) {
  a("code", x.code);
  a("tokens", x.tokens);
  a("message", x.message);
  if (A::kReads ? a.has("differs_at") : x.differs_at >= 0) {
    a("differs_at", x.differs_at);
    a("margin", x.margin);
  }
}

template <class A>
void fields(A& a, TaskScore& x) {
  a("id", x.id);
  a.choice("kind", x.kind, TaskKind::kProgram, task_kind_name);
  a("nll", x.nll);
  a("tokens", x.tokens);
  if (x.kind != TaskKind::kPerplexity) a("correct", x.correct);
  if (A::kReads ? a.has("choice") : x.choice >= 0) a("choice", x.choice);
  a.present("program", x.program);
}

template <class A>
void fields(A& a, EvalComparison& x) {
  a("passed", x.passed);
  a("flipped", x.flipped);
  a("tasks_off", x.tasks_off);
  a("nll_off", x.nll_off);
}

// Follows from the scores. Programs have no scored tokens.
template <class A>
void total_fields(A& a, const EvalTotal& x, bool scored) {
  a.derived("tasks", [&] { return Json::integer(x.tasks); });
  if (scored) a.derived("correct", [&] { return Json::integer(x.correct); });
  if (x.tokens == 0) return;
  a.derived("tokens", [&] { return Json::integer(x.tokens); });
  a.derived("nll", [&] { return real(x.mean_nll()); });
  a.derived("perplexity", [&] { return real(x.perplexity()); });
}

template <class A>
void fields(A& a, Evaluation& x) {
  total_fields(a, x.total, true);
  a("target", x.target);
  a.derived("scored", [&] { return Json::integer(x.scored()); });
  a.derived("kinds", [&] {
    Json kinds = Json::object();
    for (const auto& [kind, sum] : x.kinds) {
      JsonWriter writer;
      total_fields(writer, sum, kind != TaskKind::kPerplexity);
      kinds.set(task_kind_name(kind), writer.take());
    }
    return kinds;
  });
  std::vector<TaskScore> scores;
  if (!A::kReads) scores = x.scores;
  a("results", scores);
  if (A::kReads) {
    for (TaskScore& score : scores) x.add(std::move(score));
  }
  a("failure", x.failure);
  a("seconds", x.seconds);
  if (A::kReads && a.has("passed")) x.comparison.emplace();
  if (x.comparison) fields(a, *x.comparison);
}

template <class A>
void fields(A& a, QuantizationCost& x) {
  a("weight_error", x.weight_error);
  a("positions", x.positions);
  a("kl_mean", x.kl_mean);
  a("kl_max", x.kl_max);
  a("unquantized_nll", x.nll);
}

template <class A>
void fields(A& a, Evaluated& x) {
  a("tasks", x.tasks);
  // Without a reference there is nothing to validate.
  const bool compared = !x.reference.empty();
  std::optional<std::string> reference;
  if (compared) reference = x.reference;
  a.nullable("reference", reference);
  if (A::kReads) x.reference = reference.value_or("");
  a.derived("passed", [&] { return compared ? Json::boolean(x.passed()) : Json::null(); });
  a.derived("verdict", [&] {
    return compared ? Json::string(verdict_word(x.passed() ? Verdict::kPass : Verdict::kFail))
                    : Json::null();
  });
  a.nullable("quantization", x.cost);
  a("targets", x.evaluations);
}

}  // namespace tapml::topdown
