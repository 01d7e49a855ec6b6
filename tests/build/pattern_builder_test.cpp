// Patterns built in C++ equal the functions that their text parses to.
#include "build/pattern_builder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "build/pattern.h"
#include "ir/exceptions.h"
#include "support/attention_pattern.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::build {
namespace {

using namespace relax;  // NOLINT

std::string read(const std::string& file) {
  std::ifstream stream(std::string(TAPML_SOURCE_DIR) + "/" + file);
  EXPECT_TRUE(stream) << file;
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

const Function& only_function(const Module& module) {
  EXPECT_EQ(module.functions.size(), 1u);
  return *as_relax_function(module.functions.begin()->second.get());
}

// `built` equals what `source` parses to, including the hash that names the fusion policy. It also
// prints and parses.
void expect_same(const FunctionRef& built, const std::string& source) {
  const Module parsed = text::parse(source, "pattern");
  const std::string& name = parsed.functions.begin()->first;
  check_pattern(*built, name);
  Module module;
  module.functions[name] = built;
  std::string difference;
  EXPECT_TRUE(text::structural_equal(parsed, module, {.difference = &difference})) << difference;
  EXPECT_EQ(text::structural_hash(*built), text::structural_hash(only_function(parsed)));
  EXPECT_TRUE(text::structural_equal(parsed, text::parse(text::print(module), "printed")));
}

Annotation f32(Dims dims) { return tensor_annotation(std::move(dims), DType::kF32); }

Module gated_mlp() {
  Module module;
  // The example of docs/patterns.md.
  Var b = make_var("b"), t = make_var("t"), h = make_var("h"), m = make_var("m");
  build::PatternBuilder p;
  Variable x = p.any("x", tensor_annotation({b, t, h}, DType::kF32));
  Variable gate = p.any("gate", tensor_annotation({m, h}, {}));
  Variable up = p.any("up", tensor_annotation({m, h}, {}));
  p.require("large", le(2 * h, m * 3));
  Variable g = p.op("matmul", {x, gate}, {{"transpose_b", true}});
  Variable u = p.op("matmul", {x, up}, {{"transpose_b", true}});
  p.op("multiply", {p.op("silu|gelu", {g}), u});
  module.functions["gated_mlp"] = p.finish();
  return module;
}

TEST(PatternBuilder, TheExampleOfThePage) {
  expect_same(std::static_pointer_cast<const Function>(gated_mlp().functions.at("gated_mlp")),
              read("examples/patterns/gated_mlp.txt"));
  // The code above is the code that the page shows.
  const std::string page = read("docs/patterns.md"),
                    here = read("tests/build/pattern_builder_test.cpp");
  const size_t begin = page.find("```cpp\n");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream lines(page.substr(begin + 7, page.find("```", begin + 7) - begin - 7));
  size_t at = here.find("// The example of docs/patterns.md.");
  for (std::string line; std::getline(lines, line); ++at) {
    at = here.find("\n  " + line + "\n", at);
    ASSERT_NE(at, std::string::npos) << line;
  }
}

TEST(PatternBuilder, ARoutineOfALibrary) {
  PatternBuilder p;
  Variable gate = p.any("gate", tensor_annotation_ndim(3, DType::kF32));
  Variable up = p.any("up", tensor_annotation_ndim(3, DType::kF32));
  p.op("multiply", {p.op("silu", {gate}), up});
  expect_same(p.finish({{"library", "example.swiglu"}}), read("examples/library/swiglu.txt"));
}

TEST(PatternBuilder, ARoutineWithParametersAndACondition) {
  Var b = make_var("b"), k = make_var("k"), m = make_var("m");
  PatternBuilder p;
  Variable x = p.any("x", f32({b, k})), w = p.any("w", f32({k, m}));
  p.require("c", le(64, m));
  p.op("matmul", {x, w});
  expect_same(
      p.finish({{"library", "openblas.matmul"}, {"parameters", std::vector<int64_t>{0, 1}}}), R"(
def wide(x: Tensor((b, k), f32), w: Tensor((k, m), f32), c: Prim(bool, 64 <= m))
    -> Object {pattern: true, library: "openblas.matmul", parameters: [0, 1]} {
  dataflow {
    y: Object = matmul(x, w)
    output y
  }
  return y
}
)");
}

TEST(PatternBuilder, AttentionWithAttributesAndAScalar) {
  Var b = make_var("b"), h = make_var("h"), m = make_var("m"), n = make_var("n"), d = make_var("d");
  PatternBuilder p;
  Variable q = p.any("q", f32({b, h, m, d})), k = p.any("k", f32({b, h, n, d}));
  Variable v = p.any("v", f32({b, h, n, d})), scale = p.any("scale", f32({}));
  p.require("c", le(d, 128));
  Variable scores = p.op("matmul", {q, k}, {{"transpose_b", true}});
  Variable scaled = p.op("multiply", {scores, scale});
  p.op("matmul", {p.op("softmax", {scaled}, {{"axis", -1}}), v});
  expect_same(p.finish(), testing::kAttentionPattern);
}

TEST(PatternBuilder, ValuesOfEveryKind) {
  // A shape that matches any two dimensions, a given shape, and values with conditions on their
  // contents.
  Var n = make_var("n");
  PatternBuilder p;
  Variable x = p.any("x"), rows = p.any("rows", shape_annotation_ndim(2));
  Variable y = p.any("y", tensor_annotation({n, n}, {}));
  Variable square = p.op("reshape", {x, rows}, {}, tensor_annotation_ndim(2, DType::kF32));
  Variable both = p.op("concat", {make_tuple({square, y})}, {{"axis", 0}});
  p.op("reshape", {both, make_shape({n * 4, 2})});
  expect_same(p.finish(), R"(
def p(x: Object, rows: Shape(ndim=2), y: Tensor((n, n))) -> Object {pattern: true} {
  dataflow {
    a: Tensor(ndim=2, f32) = reshape(x, rows)
    b: Object = concat((a, y)) {axis: 0}
    c: Object = reshape(b, shape(n*4, 2))
    output c
  }
  return c
}
)");
}

TEST(PatternBuilder, RefusesPatternsThatCannotMatch) {
  auto refused = [](PatternBuilder p, const std::vector<std::string>& parts) {
    testing::expect_user_error([&] { check_pattern(*p.finish(), "p"); }, parts);
  };
  PatternBuilder empty;
  empty.any("x");
  refused(empty, {"a pattern is not one dataflow block", "pattern @p"});
  PatternBuilder unknown;
  unknown.op("silu|gelo", {unknown.any("x")});
  refused(unknown, {"no operator is called 'gelo'", "pattern @p, binding silu"});
  PatternBuilder unused;
  unused.any("x");
  unused.op("exp", {unused.any("y")});
  refused(unused, {"does not use its parameter 'x'"});
  PatternBuilder apart;
  Variable x = apart.any("x");
  apart.op("exp", {x});
  apart.op("silu", {x});
  refused(apart, {"a pattern's result does not need 'exp'"});
}

}  // namespace
}  // namespace tapml::build
