#include "fuzz/reduce/bisect.h"

#include "fuzz/oracles/variants.h"
#include "ir/exceptions.h"
#include "text/printer.h"

namespace tapml::fuzz {

namespace {

struct Stage {
  std::string pass;
  Module module;
};

std::string text_of(const Module& module) {
  text::SideTensors side;
  std::string text;
  const Status printed = guard([&] { text = text::print(module, &side); });
  return printed ? text : printed.error().to_string();
}

}  // namespace

Bisection bisect(const Program& program, const Problem& problem, const OracleOptions& options) {
  if (problem.variant == kMemoryVariant) return {problem.pass, problem.message, "", ""};
  if (problem.kind != ProblemKind::kValues) return {problem.pass, problem.message, "", ""};
  const interp::Value expected =
      evaluated(program.module, program.arguments, interp::KernelBody::kSpec);
  std::vector<Stage> stages = {{"", program.module}};
  pipeline::Instruments instruments;
  instruments.after = [&](const std::string& pass, const Module& module) {
    stages.push_back({pass, module});
  };
  const Status ran = guard([&] {
    const Module formed = formed_as(problem.variant, program, instruments);
    if (!is_native(problem)) return;
    pipeline::ImplementOptions implement;
    implement.threads = 1;
    implement.instruments.after = instruments.after;
    // The problem's own target: "run on cpu".
    const std::string text = problem.stage.substr(problem.stage.rfind(' ') + 1);
    target::Target target = target::parse_target(text);
    const auto session = options.open(target);
    pipeline::implement(formed, target, implement);
  });
  Bisection result;
  bool lowered = false;
  size_t right = 0;
  for (size_t i = 1; i < stages.size(); ++i) {
    lowered = lowered || stages[i].pass == "legalize";
    const bool loops = lowered && !problem.stage.ends_with("operators");
    Tally tally;
    std::string different;
    const Status evaluation = guard([&] {
      different =
          difference(expected,
                     evaluated(stages[i].module, program.arguments,
                               loops ? interp::KernelBody::kLoops : interp::KernelBody::kSpec),
                     tally);
    });
    // The interpreter does not know planned memory.
    if (!evaluation) continue;
    if (!different.empty()) {
      return {stages[i].pass, different, text_of(stages[right].module), text_of(stages[i].module)};
    }
    right = i;
  }
  if (!ran) return {"", ran.error().to_string(), "", ""};
  result.pass = is_native(problem) ? "code generation" : "";
  result.reason =
      "no module after a pass computes other values; the last one that was interpreted is after " +
      stages[right].pass;
  return result;
}

}  // namespace tapml::fuzz
