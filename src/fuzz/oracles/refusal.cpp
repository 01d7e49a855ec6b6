#include "fuzz/oracles/refusal.h"

#include "base/strings.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {

std::optional<Problem> refusal_problem(const Disrupted& program) {
  Problem problem{ProblemKind::kAccepted, program.rule, "", program.op};
  const Status accepted = guard([&] {
    text::SideTensors side;
    const std::string text = text::print(program.module, &side);
    text::SourceMap places;
    const Module module = pipeline::normal_form(
        text::parse(text, "program.txt", {.side = &side, .places = &places}), &places);
    pipeline::check_input(module, "program.txt", &places);
  });
  if (accepted) {
    problem.message += ": the program is accepted";
    return problem;
  }
  const std::string text = accepted.error().to_string();
  problem.kind = ProblemKind::kDiagnostic;
  if (accepted.error().kind != ErrorKind::kUser) {
    problem.kind = ProblemKind::kInternal;
    problem.message = text;
    return problem;
  }
  for (const std::string& part : program.expected) {
    if (text.find(part) != std::string::npos) continue;
    problem.message = "the diagnostic lacks " + in_quotes(part) + ": " + text;
    return problem;
  }
  return std::nullopt;
}

}  // namespace tapml::fuzz
