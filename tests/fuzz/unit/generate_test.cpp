// Generated programs: the same for a seed, valid, and with every operator.
#include "fuzz/generate/generate.h"

#include <gtest/gtest.h>

#include <set>

#include "fuzz/generate/graph.h"
#include "fuzz/oracles/oracles.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "pipeline/check_input.h"
#include "relax/visit.h"
#include "text/printer.h"

namespace tapml::fuzz {
namespace {

TEST(Coverage, IsReadBackAndNamesABrokenLine) {
  Coverage coverage;
  EXPECT_TRUE(coverage.add(dtype_key("add", DType::kF32)));
  EXPECT_FALSE(coverage.add(dtype_key("add", DType::kF32)));
  EXPECT_TRUE(coverage.add(shape_key("add", {2, 3})));
  EXPECT_TRUE(coverage.add(shape_key("add", {3, 2})));
  EXPECT_TRUE(coverage.add(edge_key("add", "multiply")));
  EXPECT_TRUE(coverage.add(edge_key("multiply", "add")));
  const auto back = Coverage::parse(coverage.text(), "file");
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(back->text(), coverage.text());
  EXPECT_EQ(back->size(Criterion::kShape), 2);
  EXPECT_EQ(back->digest(), coverage.digest());
  for (const char* broken : {"color 0123456789abcdef\n", "dtype 0123\n", "dtype\n",
                             "dtype 0123456789abcdeg\n", "edge 0123456789abcdef0\n"}) {
    const auto refused = Coverage::parse("dtype 0123456789abcdef\n" + std::string(broken), "file");
    ASSERT_FALSE(refused) << broken;
    EXPECT_EQ(refused.error().where, "file:2");
    EXPECT_EQ(refused.error().kind, ErrorKind::kUser);
  }
}

TEST(Policies, AcceptByWhatACandidateAdds) {
  RandomStream rng(1, "policy");
  EXPECT_FALSE(accepts(Policy::kPaper, 0, rng));
  EXPECT_TRUE(accepts(Policy::kPaper, 1, rng));
  EXPECT_TRUE(accepts(Policy::kNone, 0, rng));
  EXPECT_FALSE(accepts(Policy::kPublished, 0, rng));
  EXPECT_TRUE(accepts(Policy::kPublished, 3, rng));
  int one = 0, two = 0;
  for (int i = 0; i < 10'000; ++i) {
    one += accepts(Policy::kPublished, 1, rng);
    two += accepts(Policy::kPublished, 2, rng);
  }
  EXPECT_NEAR(one, 1100, 150);
  EXPECT_NEAR(two, 5100, 200);
}

TEST(Generate, IsAFunctionOfSeedAndCoverage) {
  const Coverage none;
  Coverage some;
  bool guided = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Generated first = generate(seed, none, {}), second = generate(seed, none, {});
    const std::string text = text::print(first.program.module);
    EXPECT_EQ(text, text::print(second.program.module)) << seed;
    EXPECT_EQ(first.added.digest(), second.added.digest()) << seed;
    guided |= text::print(generate(seed, some, {}).program.module) != text;
    some.merge(first.added);
  }
  EXPECT_TRUE(guided) << "coverage changes nothing";
}

TEST(Generate, SeedsOfProgramsStay) {
  // By the convention of base/rng.h: Philox block (index, 0, 0, 0) of the stream "program".
  const PhiloxCounter block = philox_block({3, 0, 0, 0}, philox_key(7, "program"));
  EXPECT_EQ(program_seed(7, 3), uint64_t{block[1]} << 32 | block[0]);
  EXPECT_NE(program_seed(7, 3), program_seed(7, uint64_t{3} << 32));
}

TEST(Generate, GraphsAreValidAndDiverse) {
  std::set<std::string> operators;
  std::set<DType> dtypes;
  std::set<size_t> ranks;
  int symbolic = 0, several = 0;
  Coverage coverage;
  for (uint64_t seed = 0; seed < 160; ++seed) {
    const Graph graph = generate_graph(seed, coverage, {.operators = 10});
    const std::string text = text::print(graph.module);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    ASSERT_NO_THROW(pipeline::check_input(graph.module, "graph"));
    coverage.merge(graph.added);
    const auto& main = *relax::as_relax_function(graph.module.find("main"));
    ASSERT_EQ(main.params.size(), graph.inputs.size());
    bool named = false;
    for (const op::GeneratedTensor& input : graph.inputs) {
      dtypes.insert(input.dtype);
      ranks.insert(input.shape.size());
    }
    for (const relax::Variable& param : main.params) {
      std::vector<Var> vars;
      relax::collect_vars(param->annotation, vars);
      named |= !vars.empty();
    }
    symbolic += named;
    several += relax::as_tuple(main.result)->fields.size() > 1;
    relax::visit(main.body, [&](const relax::Expr& part) {
      if (relax::as<relax::CallNode>(part)) operators.insert(relax::called_operator(part));
    });
  }
  EXPECT_GT(operators.size(), op::operator_table().size() * 8 / 10);
  EXPECT_GE(dtypes.size(), 12U);
  EXPECT_GE(ranks.size(), 5U);
  EXPECT_GT(symbolic, 40);
  EXPECT_GT(several, 40);
}

TEST(Generate, ProgramsRunOnTheReference) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Generated generated = generate(seed, {}, {});
    const Program& program = generated.program;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text::print(program.module));
    EXPECT_NO_THROW(evaluated(program.module, program.arguments, interp::KernelBody::kSpec));
  }
}

}  // namespace
}  // namespace tapml::fuzz
