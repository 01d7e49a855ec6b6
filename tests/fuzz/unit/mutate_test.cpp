// Mutations keep what programs compute.
#include "fuzz/mutate/mutate.h"

#include <gtest/gtest.h>

#include "fuzz/generate/generate.h"
#include "fuzz/mutate/parts.h"
#include "fuzz/oracles/oracles.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {
namespace {

Module read_back(const Module& module) {
  text::SideTensors side;
  const std::string text = text::print(module, &side);
  return text::parse(text, "mutant", {.side = &side});
}

TEST(Mutations, KeepValues) {
  std::map<std::string, int> applied;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Program program = generate(seed, {}, {}).program;
    const interp::Value expected =
        evaluated(program.module, program.arguments, interp::KernelBody::kSpec);
    for (const Mutation& mutation : mutations()) {
      RandomStream rng(seed, mutation.name);
      std::optional<Module> mutant = mutation.rule(program.module, rng);
      if (!mutant) continue;
      *mutant = read_back(*mutant);
      SCOPED_TRACE(std::string(mutation.name) + ", seed " + std::to_string(seed) + "\n" +
                   text::print(*mutant));
      ASSERT_NO_THROW(pipeline::check_input(*mutant, "mutant"));
      Tally tally;
      EXPECT_EQ(difference(expected,
                           evaluated(*mutant, program.arguments, interp::KernelBody::kSpec), tally),
                "");
      ++applied[mutation.name];
    }
  }
  for (const Mutation& mutation : mutations()) {
    EXPECT_GT(applied[mutation.name], 3) << mutation.name << " finds no place";
  }
}

TEST(Mutations, ComposeToTheirDepth) {
  const Module module = text::parse(R"(module
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x)
    y: Tensor((n, 4), f32) = add(a, x)
    output y
  }
  return y
})",
                                    "module");
  RandomStream rng(5, "mutant");
  const auto mutant = mutate(module, 6, rng);
  ASSERT_TRUE(mutant);
  EXPECT_EQ(std::count(mutant->text.begin(), mutant->text.end(), ','), 5) << mutant->text;
  EXPECT_NO_THROW(pipeline::check_input(mutant->module, "mutant"));
}

TEST(Mutations, OfFunctionsAreThoseOfThePaper) {
  const Module module = text::parse(R"(module
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = exp(x)
  return y
})",
                                    "module");
  RandomStream rng(1, "mutant");
  const std::string closure = text::print(read_back(*make_closure(module, rng)));
  EXPECT_NE(closure.find("closure: Callable((Tensor((n_1,), f32)), Tensor((n_1,), f32)) = def ("),
            std::string::npos)
      << closure;
  const std::string returned = text::print(read_back(*return_function(module, rng)));
  EXPECT_NE(returned.find("def give_main()"), std::string::npos) << returned;
  EXPECT_NE(returned.find("= @give_main()"), std::string::npos) << returned;
  const std::string wrapped = text::print(read_back(*wrap_call(module, rng)));
  EXPECT_NE(wrapped.find("= @main_inner(x)"), std::string::npos) << wrapped;
}

}  // namespace
}  // namespace tapml::fuzz
