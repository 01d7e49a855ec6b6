// Text modules that parse but are invalid: an input error, never an internal error or a crash.
#include "pipeline/check_input.h"

#include <gtest/gtest.h>

#include "main_head.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/structural.h"

namespace tapml::pipeline {
namespace {

using testing::kMainHead;

// Checks and compiles for the null target.
Error error_of(const std::string& source) {
  auto result = guard([&] {
    text::SourceMap places;
    Module module = text::parse(source, "m.txt", {.places = &places});
    check_input(module, "m.txt", &places);
    compile(module, target::parse_target("null"));
  });
  if (result) return internal_error("no error");
  return result.error();
}

void expect_user(const std::string& source, const std::vector<std::string>& parts) {
  Error error = error_of(source);
  EXPECT_EQ(error.kind, ErrorKind::kUser) << error.to_string();
  testing::expect_parts(error, parts);
}

TEST(CheckInput, AcceptsAGoodModule) {
  Module module = text::parse(kMainHead + "y: Tensor((n, 4), f32) = silu(x) return y }", "m.txt");
  EXPECT_NO_THROW(check_input(module, "m.txt"));
  EXPECT_NO_THROW(check_input(form_kernels(module), "m.txt"));
}

TEST(CheckInput, CallsThatAreIllFormed) {
  expect_user(kMainHead + "y: Tensor((n, 4), f32) = frobnicate(x) return y }",
              {"m.txt:2:26", "frobnicate", "docs/operators.md"});
  expect_user(kMainHead + "y: Tensor((n, 4), f32) = silu(x, x) return y }",
              {"m.txt", "silu", "found: 2"});
  expect_user(kMainHead + "y: Tensor((n, 4), f32) = silu(x) {foo: 1} return y }", {"foo"});
  expect_user(
      "def main(x: Tensor((n, 4), f32)) -> Tensor((n, 8), f32) {"
      "y: Tensor((n, 8), f32) = silu(x) return y }",
      {"m.txt:1:61", "'y'", "(n, 8)", "(n, 4)"});
  expect_user(kMainHead + "y: Tensor((n, 4), f32) = @nope(x) return y }", {"R5", "nope"});
  expect_user(kMainHead + "return silu(silu(x)) }", {"R4", "m.txt"});
  expect_user(
      "def main(t: Tuple(Tensor((4,), f32), Tensor((4,), f32))) -> Tensor((4,), f32) {\n"
      "dataflow { a: Tensor((4,), f32) = add(t[0], t[1]) output a }\nreturn a }",
      {"R4", "t[0]"});
}

TEST(CheckInput, UnsupportedPrograms) {
  Module planned = text::parse("module {phase: \"plan\"}\n" + kMainHead + "return x }", "m.txt");
  auto result = guard([&] { check_input(planned, "m.txt"); });
  ASSERT_FALSE(result);
  testing::expect_parts(result.error(), {"planned", "m.txt"});
}

TEST(CheckInput, KernelsWithoutTheirImplementation) {
  const std::string body = "{ y: Tensor((4,), f32) = silu(x) return y }\n";
  const std::string head = "def k(x: Tensor((4,), f32)) -> Tensor((4,), f32) ";
  expect_user(head + "{kernel: true}" + body, {"m.txt", "@k", "no such attribute"});
  expect_user(head + "{kernel: true, implementation: \"other\"}" + body +
                  "prim def other(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
                  "for i in serial(4) { y[i] = x[i] } }",
              {"@k_impl", "@other"});
  expect_user(
      "module {phase: \"fuse\"}\ndef main(x: Tensor((4,), f32)) -> Tensor(ndim=1, f32) {\n"
      "y: Tensor(ndim=1, f32) = call_tir(@k, (x,), Tensor(ndim=1, f32)) return y }\n" +
          head + "{kernel: true, implementation: \"k_impl\"}" + body +
          "prim def k_impl(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
          "for i in serial(4) { y[i] = x[i] } }",
      {"no known shape"});
}

TEST(FoldConstants, LeavesWhatOverflows) {
  Module module = text::parse(
      "def main() -> Tensor((4294967296, 4294967296), f32) {\n"
      "y: Tensor((4294967296, 4294967296), f32) = full(shape(4294967296, 4294967296)) "
      "{value: 1.0, dtype: f32} return y }",
      "m.txt");
  for (const PassInfo& pass : pass_table()) {
    if (pass.name != std::string("fold_constants")) continue;
    EXPECT_TRUE(text::structural_equal(pass.run(module), module));
  }
}

TEST(FuseOps, RunTwiceChangesNothing) {
  Module module = text::parse(kMainHead +
                                  "dataflow { a: Tensor((n, 4), f32) = silu(x)\n"
                                  "b: Tensor((n, 4), f32) = exp(a) output b }\nreturn b }",
                              "m.txt");
  for (const char* name :
       {"legalize", "annotate_patterns", "fuse_ops", "fuse_ops", "fuse_tensor_ir", "dead_code"}) {
    for (const PassInfo& pass : pass_table()) {
      if (pass.name == std::string(name)) module = pass.run(module);
    }
  }
  EXPECT_NO_THROW(check_input(module, "m.txt"));
  EXPECT_EQ(module.functions.size(), 3u);  // main, one kernel, its implementation
}

}  // namespace
}  // namespace tapml::pipeline
