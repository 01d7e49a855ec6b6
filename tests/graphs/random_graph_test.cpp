// Random programs: the reference against native code on every platform: optimized, cut out by
// patterns, with library routines, and without any of these; interpreted loops, the text form, and
// the verifier after each pass.
//
// TAPML_GRAPHS=n programs with fixed seeds (120), then fresh ones for TAPML_GRAPH_SECONDS (2).
// TAPML_SEED=s runs that program alone.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "arms.h"
#include "constructs.h"
#include "fuzz/generate/graph.h"
#include "fuzz/language/patterns.h"
#include "passes/dead_code.h"
#include "support/generated_program.h"
#include "support/refusals.h"
#include "support/seeds.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::testing {
namespace {

using namespace fuzz;  // NOLINT: the generators

constexpr int kFixedGraphs = 120;

struct RandomGraph {
  Module module;
  std::vector<HostTensor> arguments;
};

Graph graph_of(uint64_t seed, const Coverage& snapshot) {
  RandomStream sizes(seed, "size");
  return generate_graph(seed, snapshot, {.operators = static_cast<int>(1 + sizes.below(10))});
}

// The fixed graphs cover what those before them did not; fresh ones stand alone.
RandomGraph random_graph(uint64_t seed) {
  Coverage covered;
  for (uint64_t before = 0; before < seed && seed < kFixedGraphs; ++before) {
    covered.merge(graph_of(before, covered).added);
  }
  const Graph graph = graph_of(seed, covered);
  return {graph.module, draw_inputs(graph.inputs, seed)};
}

interp::Value evaluated_graph(const Module& module, const std::vector<HostTensor>& arguments,
                              interp::KernelBody body) {
  std::vector<interp::Value> values;
  for (const HostTensor& argument : arguments) {
    values.push_back(interp::Value::tensor(op::RefTensor::from(argument)));
  }
  return interp::call(module, "main", values, body);
}

void expect_graph_text(const Module& module) {
  text::SideTensors side;
  std::string text = text::print(module, &side);
  Module back = text::parse(text, "graph", {.side = &side});
  EXPECT_TRUE(text::structural_equal(module, back));
  EXPECT_EQ(text::print(back), text);
}

// A random graph may divide by a number whose error reaches 0, leave a function's domain, or take
// an element at an ambiguous index.
OpenElements open_in(OpenTally& tally) {
  return {"a random graph may use a result at the edge of a function's domain", tally};
}

void expect_loops_agree(const RandomGraph& graph, const Module& fixed,
                        const std::vector<op::RefTensor>& expected, OpenTally& tally) {
  std::vector<op::RefTensor> found;
  collect(evaluated_graph(fixed, graph.arguments, interp::KernelBody::kLoops), found);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    auto problem = outside_bound(found[i].to_host(), expected[i], open_in(tally));
    EXPECT_FALSE(problem) << "interpreted loops: output " << i << " " << *problem;
  }
}

using Sessions = std::vector<std::pair<std::string, std::unique_ptr<runtime::Session>>>;

// GPU drivers compile slowly: they get one program in this many.
uint64_t share_of_graphs(const std::string& platform) {
  return platform == "cpu" ? 1 : platform == "opencl" ? 6 : 9;
}

void expect_on(runtime::Session& session, const target::Target& target, const Module& fixed,
               const RandomGraph& graph, const pipeline::ImplementOptions& options,
               Constructs& occurred, OpenTally& tally) {
  std::shared_ptr<const Executable> executable;
  try {
    executable = pipeline::implement(fixed, target, options);
  } catch (const CompilerException& exception) {
    if (!is_declared_refusal(exception.error(), target)) throw;
    return;
  }
  count_routines(*executable, occurred);
  expect_matches_reference(session, std::move(executable), graph.module,
                           {{"main", "", graph.arguments}}, open_in(tally));
}

void run_graph(uint64_t seed, const Sessions& sessions, Constructs& occurred, OpenTally& tally) {
  const RandomGraph graph = random_graph(seed);
  RandomStream arms(seed, "arms");
  Module module = graph.module;
  if (arms.chance(0.5)) add_random_patterns(module, arms, static_cast<int>(1 + arms.below(4)));
  count_constructs(graph.module, occurred);
  SCOPED_TRACE("TAPML_SEED=" + std::to_string(seed) + "\n" + text::print(module));
  try {
    analysis::verify(module);
    expect_graph_text(module);
    EXPECT_EQ(patterns_without_match(module), std::vector<std::string>());
    std::vector<op::RefTensor> expected;
    collect(evaluated_graph(graph.module, graph.arguments, interp::KernelBody::kSpec), expected);
    pipeline::ImplementOptions options;
    options.instruments.verify = true;
    options.instruments.after = [&](const std::string& pass, const Module& after) {
      if (pass == "match") count_matches(after, occurred);
    };
    Module optimized = pipeline::form_kernels(module, options.instruments);
    expect_graph_text(optimized);
    expect_loops_agree(graph, optimized, expected, tally);
    // Every operator as a separate kernel.
    Module plain = passes::eliminate_dead_code(passes::legalize(graph.module));
    for (const auto& [platform, session] : sessions) {
      if (seed % share_of_graphs(platform) != 0) continue;
      for (const Module* fixed : {&optimized, &plain}) {
        // Routines are for single products, which are few.
        const bool libraries = platform == "cpu" && arms.chance(fixed == &plain ? 0.8 : 0.3);
        const target::Target target =
            target::parse_target(libraries ? target_with_libraries(arms) : platform);
        SCOPED_TRACE(target.text + (fixed == &plain ? " without fusion" : " optimized"));
        expect_on(*session, target, *fixed, graph, options, occurred, tally);
      }
    }
  } catch (const CompilerException& exception) {
    ADD_FAILURE() << exception.error().to_string();
  }
}

TEST(RandomGraphs, AgreeWithTheReference) {
  Sessions sessions;
  for (const char* platform : {"cpu", "opencl", "vulkan", "wasm"}) {
    if (auto session = open_session(platform)) sessions.emplace_back(platform, std::move(session));
  }
  Seeds seeds(kFixedGraphs);
  Constructs occurred;
  OpenTally of_fixed, of_fresh;
  int count = 0, failures = 0;
  while (auto seed = seeds.next()) {
    const ::testing::TestResult& result =
        *::testing::UnitTest::GetInstance()->current_test_info()->result();
    int parts = result.total_part_count();
    run_graph(*seed, sessions, occurred, count < kFixedGraphs ? of_fixed : of_fresh);
    ++count;
    // A few findings tell more than one; many are usually one bug.
    if (result.total_part_count() > parts && ++failures == 5) break;
  }
  printf("%d programs; %.2f%% of the elements of the fixed ones have no bound\n", count,
         100 * of_fixed.share());
  EXPECT_LT(of_fixed.share(), 0.1) << "the programs test too little";
  if (count < kFixedGraphs || failures > 0) return;
  std::vector<std::string> expected = libraries_here();
  expected.emplace_back("cut out by a pattern");
  expect_all(occurred, expected);
  // The walk covers every operator; this test covers combinations.
  std::vector<std::string> never;
  for (const op::OperatorInfo* info : op::operator_table()) {
    if (!occurred.contains(info->name)) never.emplace_back(info->name);
  }
  EXPECT_LE(never.size(), op::operator_table().size() / 8) << ::testing::PrintToString(never);
}

}  // namespace
}  // namespace tapml::testing
