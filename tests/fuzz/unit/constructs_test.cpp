// Every construct of the language is drawn.
#include "fuzz/language/constructs.h"

#include <gtest/gtest.h>

#include "fuzz/language/language.h"
#include "fuzz/language/patterns.h"
#include "op/operator.h"

namespace tapml::fuzz {
namespace {

TEST(LanguageGenerator, DrawsEveryConstruct) {
  // Which programs have a rare construct changes with every operator that is added to the table.
  constexpr uint64_t kDrawn = 660;
  std::set<std::string> drawn;
  for (uint64_t seed = 0; seed < kDrawn; ++seed) {
    RandomStream rng(seed, "size");
    const Module module = LanguageGenerator(seed).make(static_cast<int>(2 + rng.below(10))).module;
    drawn.merge(constructs_of(module));
    EXPECT_EQ(patterns_without_match(module), std::vector<std::string>()) << seed;
  }
  for (const char* construct : {"def",
                                "impure def",
                                "symbolic signature",
                                "static signature",
                                "recursion",
                                "dataflow block",
                                "match_cast",
                                "origin",
                                "lines",
                                "if",
                                "loop",
                                "closure",
                                "tuple",
                                "field",
                                "shape value",
                                "host scalar",
                                "constant",
                                "function as a value",
                                "call of a function",
                                "call of a function value",
                                "packed call",
                                "hand-written program",
                                "negative host scalar",
                                "scalar of unknown sign in slice",
                                "scalar of unknown sign in strided_slice",
                                "scalar of unknown sign in call_tir",
                                "call_tir",
                                "call_tir_inplace",
                                "copy",
                                "assign",
                                "assign_slice",
                                "view_reshape",
                                "view_slice",
                                "view_transpose",
                                op::kTensorToShape,
                                "nonzero",
                                "unique",
                                "pattern",
                                "matmul",
                                "linear",
                                "softmax",
                                "layer_norm"}) {
    EXPECT_TRUE(drawn.contains(construct)) << construct;
  }
}

}  // namespace
}  // namespace tapml::fuzz
