// Random programs: the judge against native code on every platform, optimized and not, the loops
// interpreted, the text form, and the verifier after each pass.
//
// TAPML_GRAPHS=n programs with fixed seeds (300), then fresh ones for TAPML_GRAPH_SECONDS (2).
// TAPML_SEED=s runs that program alone.
#include "support/random_graph.h"

#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "passes/dead_code.h"
#include "support/seeds.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::testing {
namespace {

interp::Value judged(const Module& module, const std::vector<HostTensor>& arguments,
                     interp::KernelBody body) {
  std::vector<interp::Value> values;
  for (const HostTensor& argument : arguments) {
    values.push_back(interp::Value::tensor(op::RefTensor::from(argument)));
  }
  return interp::call(module, "main", values, body);
}

void expect_same_text(const Module& module) {
  text::SideTensors side;
  std::string text = text::print(module, &side);
  Module back = text::parse(text, "graph", {.side = &side});
  EXPECT_TRUE(text::structural_equal(module, back));
  EXPECT_EQ(text::print(back), text);
}

void expect_loops_agree(const RandomGraph& graph, const Module& fixed,
                        const std::vector<op::RefTensor>& expected) {
  std::vector<op::RefTensor> found;
  collect(judged(fixed, graph.arguments, interp::KernelBody::kLoops), found);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    auto problem = outside_bound(found[i].to_host(), expected[i]);
    EXPECT_FALSE(problem) << "interpreted loops: output " << i << " " << *problem;
  }
}

void run_graph(uint64_t seed, const std::vector<std::unique_ptr<runtime::LocalSession>>& sessions) {
  RandomStream sizes(seed, "size");
  RandomGraph graph = GraphGenerator(seed).make(static_cast<int>(1 + sizes.below(10)));
  SCOPED_TRACE("TAPML_SEED=" + std::to_string(seed) + "\n" + text::print(graph.module));
  try {
    analysis::verify(graph.module);
    expect_same_text(graph.module);
    std::vector<op::RefTensor> expected;
    collect(judged(graph.module, graph.arguments, interp::KernelBody::kSpec), expected);
    pipeline::ImplementOptions options;
    options.instruments.verify = true;
    Module optimized = pipeline::fix_kernels(graph.module, options.instruments);
    expect_same_text(optimized);
    expect_loops_agree(graph, optimized, expected);
    // Every operator a kernel of its own.
    Module plain = passes::eliminate_dead_code(passes::legalize(graph.module));
    for (size_t s = 0; s < sessions.size(); ++s) {
      // OpenCL compiles slowly: every fourth program.
      if (s > 0 && seed % 4 != 0) continue;
      target::Target target = target::parse_target(s == 0 ? "cpu" : "opencl");
      for (const Module* fixed : {&optimized, &plain}) {
        SCOPED_TRACE(target.text + (fixed == &plain ? " without fusion" : " optimized"));
        expect_judged(*sessions[s], pipeline::implement(*fixed, target, options), graph.module,
                      {{"main", "", graph.arguments}});
      }
    }
  } catch (const CompilerException& exception) {
    ADD_FAILURE() << exception.error().to_string();
  }
}

TEST(RandomGraphs, AgreeWithTheJudge) {
  std::vector<std::unique_ptr<runtime::LocalSession>> sessions;
  for (const char* platform : {"cpu", "opencl"}) {
    if (auto session = open_session(platform)) sessions.push_back(std::move(session));
  }
  Seeds seeds(300);
  int count = 0, failures = 0;
  while (auto seed = seeds.next()) {
    const ::testing::TestResult& result =
        *::testing::UnitTest::GetInstance()->current_test_info()->result();
    int parts = result.total_part_count();
    run_graph(*seed, sessions);
    ++count;
    // A few findings say more than one; many are one bug.
    if (result.total_part_count() > parts && ++failures == 5) break;
  }
  printf("%d programs\n", count);
}

}  // namespace
}  // namespace tapml::testing
