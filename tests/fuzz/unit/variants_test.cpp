// Other ways to compile a program.
#include "fuzz/oracles/variants.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "fuzz/generate/generate.h"
#include "fuzz/oracles/compare.h"
#include "fuzz/oracles/null_calls.h"
#include "ir/exceptions.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {
namespace {

Program two_kernels() {
  Program program;
  program.module = text::parse(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = softmax(x) {axis: 0}
    b: Tensor((n, 8), f32) = cumsum(a) {axis: 0}
    c: Tensor((n, 8), f32) = cumsum(b) {axis: 0}
    output c
  }
  return c
})",
                               "test");
  program.arguments = {
      interp::Value::tensor(op::RefTensor::from(HostTensor::zeros(DType::kF32, {5, 8})))};
  return program;
}

std::shared_ptr<runtime::Session> null_session() { return testing::open_session("null"); }

Variant variant_of(const std::string& text) { return parse_variant(text); }

TEST(Variants, TextsAreReadBack) {
  for (const char* text :
       {"", "static shapes", "without fuse_ops,match; memory", "order dead_code,name_shapes",
        "without all; libraries onednn+openblas; routines; bounds n+3,m+0; reloaded; above n"}) {
    EXPECT_EQ(variant_of(text).text(), text);
  }
  EXPECT_TRUE(variant_of("").is_usual());
  EXPECT_EQ(variant_of("without match; bounds n+3; above n").kind(),
            "without match; bounds; above");
  for (const char* text : {"backwards", "bounds n", "bounds n+-1"}) {
    EXPECT_FALSE(guard([&] { parse_variant(text); })) << text;
  }
}

TEST(Variants, BecomeSimplerByOnePart) {
  std::set<std::string> texts;
  for (const Variant& simpler : variant_of("without match,dead_code; reloaded").simpler()) {
    texts.insert(simpler.text());
  }
  EXPECT_EQ(texts,
            (std::set<std::string>{"reloaded", "without match; reloaded",
                                   "without dead_code; reloaded", "without match,dead_code"}));
}

TEST(Variants, StaticShapesHaveNoVariables) {
  const std::string text = text::print(formed_as(variant_of("static shapes"), two_kernels(), {}));
  EXPECT_EQ(text.find("n: i64"), std::string::npos) << text;
  EXPECT_NE(text.find("x: Tensor((5, 8), f32)"), std::string::npos) << text;
}

TEST(Variants, PassesAreLeftOutAndOrdered) {
  const Program program = two_kernels();
  std::vector<std::string> passes;
  pipeline::Instruments instruments;
  instruments.after = [&](const std::string& pass, const Module&) { passes.push_back(pass); };
  formed_as(variant_of("without fuse_ops"), program, instruments);
  EXPECT_EQ(std::ranges::find(passes, "fuse_ops"), passes.end());
  EXPECT_NE(std::ranges::find(passes, "fuse_tensor_ir"), passes.end());
  passes.clear();
  formed_as(variant_of("order dead_code,name_shapes"), program, instruments);
  EXPECT_EQ(passes, (std::vector<std::string>{"dead_code", "name_shapes"}));
  passes.clear();
  formed_as(variant_of("without all"), program, instruments);
  EXPECT_EQ(std::ranges::find(passes, "dead_code"), passes.end());
  EXPECT_NE(std::ranges::find(passes, "legalize"), passes.end());
}

TEST(Variants, SetTheOptionsOfCode) {
  pipeline::ImplementOptions options;
  set_options(variant_of("without plan_memory,schedule; bounds n+3,k+1; routines"), {{"n", 5}},
              options);
  EXPECT_FALSE(options.memory.reuse || options.memory.in_place);
  EXPECT_TRUE(options.scheduled_by_rules);
  EXPECT_EQ(options.memory.bounds, (passes::Bounds{{"n", 8}}));
  ASSERT_EQ(options.libraries.libraries.size(), 1U);
  EXPECT_TRUE(options.libraries.libraries[0].routines.contains("swiglu"));
  EXPECT_EQ(target_of(variant_of("libraries onednn+openblas"), "cpu").text,
            "cpu:libs=onednn+openblas");
  EXPECT_EQ(target_of(variant_of("libraries onednn"), "opencl").text, "opencl");
}

TEST(Variants, MemoryIsCompared) {
  const Program program = two_kernels();
  const Module formed = formed_as({}, program, {});
  EXPECT_EQ(memory_difference(formed, program, null_session()), "");
  Program longer = program;
  longer.arguments = {
      interp::Value::tensor(op::RefTensor::from(HostTensor::zeros(DType::kF32, {50, 8})))};
  EXPECT_EQ(memory_difference(formed, longer, null_session()), "");
}

TEST(Variants, ArgumentsAboveABoundAreRefused) {
  const Program program = two_kernels();
  const Module formed = formed_as({}, program, {});
  EXPECT_EQ(bound_difference(formed, program, "n", *null_session()), "");
  // A function that does not name the variable of its parameter accepts what is above.
  Program other = program;
  other.module = text::parse(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  return x
}
)",
                             "test");
  EXPECT_EQ(bound_difference(formed_as({}, other, {}), other, "k", *null_session()), "");
}

// Whatever is drawn is a text that is read back, and every way occurs.
TEST(Variants, EveryWayIsDrawn) {
  std::set<std::string> parts;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Program program = generate(seed, {}, {}).program;
    RandomStream rng(seed, "variants");
    const Variant variant = draw_variant(program, {true, {"onednn"}}, rng);
    EXPECT_EQ(parse_variant(variant.text()), variant);
    std::istringstream words(variant.text());
    for (std::string word; words >> word;) parts.insert(word.substr(0, word.find(';')));
  }
  for (const char* part : {"static", "without", "all", "order", "libraries", "routines", "bounds",
                           "reloaded", "memory", "above"}) {
    EXPECT_TRUE(parts.contains(part)) << part;
  }
}

TEST(Differences, HaveKinds) {
  EXPECT_EQ(difference_kind("element 3 is 1, expected 2 within 1e-06"), "values");
  EXPECT_EQ(difference_kind("field 1: element 3 is 1.001, expected 1 within 1e-06"), "rounding");
  EXPECT_EQ(difference_kind("element 0 is nan, expected 2 within 0"), "NaN");
  EXPECT_EQ(difference_kind("element 0 is -inf, expected 2 within 0"), "infinity");
  EXPECT_EQ(difference_kind("is f32(2,), expected f32(3,)"), "type");
  EXPECT_EQ(difference_kind("a call allocates 3 bytes, 4 are predicted"), "");
}

}  // namespace
}  // namespace tapml::fuzz
