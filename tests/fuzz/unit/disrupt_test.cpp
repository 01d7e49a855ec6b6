// Programs that break one rule are refused with a diagnostic that names it.
#include "fuzz/generate/disrupt.h"

#include <gtest/gtest.h>

#include <map>

#include "fuzz/oracles/refusal.h"
#include "text/printer.h"

namespace tapml::fuzz {
namespace {

TEST(Disrupt, EveryRuleIsBrokenAndEveryProgramRefused) {
  std::map<std::string, int> broken;
  Coverage coverage;
  int failures = 0;
  for (uint64_t seed = 0; seed < 400 && failures < 20; ++seed) {
    const Disrupted program = disrupt(seed, coverage, {});
    coverage.merge(program.added);
    ++broken[program.rule];
    const auto problem = refusal_problem(program);
    EXPECT_FALSE(problem) << seed << " " << program.rule << ": " << problem_kind_name(problem->kind)
                          << " " << problem->message << "\n"
                          << text::print(program.module);
    failures += problem.has_value();
  }
  for (const DisruptionRule& rule : disruption_rules()) {
    EXPECT_GT(broken[rule.name], 0) << rule.name;
  }
  EXPECT_GT(coverage.size(Criterion::kRule), 300);
}

TEST(Disrupt, IsAFunctionOfSeedAndCoverage) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Disrupted first = disrupt(seed, {}, {}), second = disrupt(seed, {}, {});
    EXPECT_EQ(text::print(first.module), text::print(second.module));
    EXPECT_EQ(first.rule, second.rule);
  }
}

}  // namespace
}  // namespace tapml::fuzz
