#include "fuzz/reduce/bisect.h"

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
  if (problem.kind != ProblemKind::kValues || !problem.pass.empty()) {
    return {problem.pass, problem.message, "", ""};
  }
  const Variant variant = parse_variant(problem.variant);
  const std::string native = target_of(problem);
  const interp::Value expected =
      evaluated(program.module, program.arguments, interp::KernelBody::kSpec);
  std::vector<Stage> stages = {{"", program.module}};
  pipeline::Instruments instruments;
  instruments.after = [&](const std::string& pass, const Module& module) {
    stages.push_back({pass, module});
  };
  const Status ran = guard([&] {
    const Module formed = formed_as(variant, program, instruments);
    if (native.empty()) return;
    pipeline::ImplementOptions implement;
    implement.threads = 1;
    implement.instruments.after = instruments.after;
    set_options(variant, extents_of(program.module, program.arguments), implement);
    target::Target target = target_of(variant, native);
    const auto session = options.devices.open(target);
    pipeline::implement(formed, target, implement);
  });
  Bisection result;
  bool lowered = false;
  size_t right = 0;
  for (size_t i = 1; i < stages.size(); ++i) {
    lowered = lowered || stages[i].pass == "legalize";
    const bool loops = lowered && problem.stage != "operators";
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
  result.pass = native.empty() ? "" : "code generation";
  result.reason =
      "no module after a pass computes other values; the last one that was interpreted is after " +
      stages[right].pass;
  return result;
}

}  // namespace tapml::fuzz
