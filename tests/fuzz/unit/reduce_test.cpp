// Findings: problems of a compiler with a planted fault, reduced, saved and read back.
#include "fuzz/reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "fuzz/campaign/finding.h"
#include "fuzz/campaign/state.h"
#include "fuzz/generate/generate.h"
#include "fuzz/oracles/oracles.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "relax/visit.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {
namespace {

bool calls(const Module& module, const std::string& name) {
  bool found = false;
  for (const auto& [function_name, function] : module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (!graph) continue;
    relax::visit(graph->body,
                 [&](const relax::Expr& part) { found |= relax::called_operator(part) == name; });
  }
  return found;
}

// A compiler that fails for programs with both operators.
std::optional<Problem> planted(const Program& program) {
  if (!guard([&] {
        pipeline::check_input(program.module, "program");
        evaluated(program.module, program.arguments, interp::KernelBody::kSpec);
      })) {
    return std::nullopt;
  }
  if (!calls(program.module, "exp") || !calls(program.module, "concat")) return std::nullopt;
  return Problem{ProblemKind::kInternal, "passes", "fuse_ops", "a planted fault"};
}

TEST(Reduce, LeavesWhatTheProblemNeeds) {
  const Module module = text::parse(R"(module
def main(x: Tensor((n, 16), f32), y: Tensor((n, 16), f32), z: Tensor((33,), i32)) -> Tuple(Tensor((33,), i32), Tensor((2 * n, 16), f32), Tensor((2 * n, 16), f32)) {
  dataflow {
    a: Tensor((n, 16), f32) = add(x, y)
    b: Tensor((n, 16), f32) = exp(a)
    c: Tensor((n, 16), f32) = multiply(b, x)
    d: Tensor((2 * n, 16), f32) = concat((c, y)) {axis: 0}
    e: Tensor((2 * n, 16), f32) = negative(d)
    f: Tensor((33,), i32) = negative(z)
    g: Tuple(Tensor((33,), i32), Tensor((2 * n, 16), f32), Tensor((2 * n, 16), f32)) = (f, d, e)
    output g
  }
  return g
})",
                                    "module");
  Program program{module, {}};
  for (const Shape& shape : {Shape{9, 16}, Shape{9, 16}}) {
    program.arguments.push_back(interp::Value::tensor(op::RefTensor::zeros(DType::kF32, shape)));
  }
  program.arguments.push_back(interp::Value::tensor(op::RefTensor::zeros(DType::kI32, {33})));
  const auto problem = planted(program);
  ASSERT_TRUE(problem);
  const Reduced reduced = reduce(
      program, *problem,
      {.check = [](const Program& candidate, const Problem&) { return planted(candidate); }});
  EXPECT_LE(reduced.operators, 3) << text::print(reduced.program.module);
  EXPECT_TRUE(planted(reduced.program));
  for (const interp::Value& argument : reduced.program.arguments) {
    for (const int64_t extent : argument.as_tensor().shape) EXPECT_LE(extent, 2);
  }
}

TEST(Findings, AreReadBack) {
  const testing::TempFolder folder;
  Finding finding;
  finding.program = generate(11, {}, {.operators = 10, .language = 1}).program;
  finding.problem = {ProblemKind::kValues, "run on cpu", "", "element 3 is 1, expected 2"};
  finding.seed = ~uint64_t{0};
  finding.index = 12;
  finding.mutations = "closure, dead";
  save_finding(finding, folder / "f");
  const Finding back = load_finding(folder / "f");
  EXPECT_EQ(text::print(back.program.module), text::print(finding.program.module));
  EXPECT_TRUE(back.problem.same_as(finding.problem));
  EXPECT_EQ(back.problem.message, finding.problem.message);
  EXPECT_EQ(back.seed, finding.seed);
  EXPECT_EQ(back.index, 12U);
  EXPECT_EQ(back.mutations, finding.mutations);
  Tally tally;
  EXPECT_EQ(difference(interp::Value::tuple(finding.program.arguments),
                       interp::Value::tuple(back.program.arguments), tally),
            "");
}

TEST(Findings, BrokenFoldersAreErrorsOfTheUser) {
  const testing::TempFolder folder;
  auto expect_refused = [&](const std::vector<std::string>& parts) {
    const auto loaded = guard([&] { return load_finding(folder.path()); });
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().kind, ErrorKind::kUser);
    testing::expect_parts(loaded.error(), parts);
  };
  auto write = [&](const char* name, const char* text) { std::ofstream(folder / name) << text; };
  expect_refused({"finding.json"});
  write("finding.json", "{");
  expect_refused({"finding.json"});
  write("finding.json", R"({"problem": {"kind": "gremlin"}})");
  expect_refused({"finding.json", "kind"});
  write("finding.json", R"({"problem": {"kind": "values", "stage": "loops"}})");
  expect_refused({"program.txt"});
  write("program.txt", "module\ndef other() -> Tuple() {\n  return ()\n}\n");
  expect_refused({"program.txt", "main"});
  write("program.txt", "module\ndef main() -> Tuple() {\n  return ()\n}\n");
  expect_refused({"inputs.txt"});
  write("inputs.txt",
        "module\ndef inputs(x: Tensor((), f32)) -> Tensor((), f32) {\n  return x\n}\n");
  expect_refused({"inputs.txt", "inputs"});
}

TEST(States, ResumeOnlyTheirOwnCampaign) {
  const testing::TempFolder folder;
  CampaignState state;
  state.seed = 7;
  state.next = 400;
  state.tests = 400;
  state.coverage.add(edge_key("add", "exp"));
  state.findings.push_back(
      {"f/1", "values", "fuse_ops", "values | loops | fuse_ops | NaN", {"add"}, 3, 2, 17});
  state.features["if"] = 4;
  state.signatures["values | loops | "] = 0;
  state.curve = {{200, 900}, {400, 1000}};
  save_state(state, folder.path());
  const CampaignState back = load_state(folder.path(), 7, {});
  EXPECT_EQ(back.next, 400U);
  EXPECT_EQ(back.coverage.digest(), state.coverage.digest());
  ASSERT_EQ(back.findings.size(), 1U);
  EXPECT_EQ(back.findings[0].index, 17U);
  EXPECT_EQ(back.findings[0].called, state.findings[0].called);
  EXPECT_EQ(back.features, state.features);
  EXPECT_EQ(back.signatures, state.signatures);
  EXPECT_EQ(back.curve, state.curve);
  auto refused = [&](uint64_t seed, const WorkerOptions& options) {
    const auto loaded = guard([&] { return load_state(folder.path(), seed, options); });
    return loaded ? "" : loaded.error().message;
  };
  EXPECT_EQ(refused(8, {}), "the campaign in this folder has another seed");
  WorkerOptions other;
  other.depth = 9;
  EXPECT_EQ(refused(7, other), "the campaign in this folder has other options");
  std::ofstream(folder / "state.json") << "{\"format\": 3}";
  EXPECT_NE(refused(7, {}).find("this is no state of a campaign"), std::string::npos);
}

TEST(Causes, GroupFindings) {
  KnownFinding mod;
  mod.kind = "values";
  mod.cause = "values | loops | legalize | NaN";
  mod.called = {"mod"};
  KnownFinding other = mod;
  other.called = {"add", "mod"};
  EXPECT_TRUE(is_known(other, mod));
  EXPECT_FALSE(is_known(mod, other));
  other.called = {"exp"};
  EXPECT_FALSE(is_known(other, mod));
  EXPECT_EQ(count_causes({mod, other}), 1);
  // A message tells more than the operators.
  mod.kind = other.kind = "internal";
  EXPECT_TRUE(is_known(other, mod));
  other.cause = "values | loops | legalize | rounding";
  EXPECT_FALSE(is_known(other, mod));
  EXPECT_EQ(count_causes({mod, other}), 2);
}

// The way to compile is no part of the problem where the problem does not need it.
TEST(Reduce, SimplifiesTheVariant) {
  Program program{text::parse("module\ndef main() -> Tuple() {\n  return ()\n}\n", "module"), {}};
  Problem problem{ProblemKind::kValues, "run on cpu", "", "is wrong",
                  "without match,dead_code; libraries onednn; reloaded"};
  const auto needs_match = [](const Program&, const Problem& of) -> std::optional<Problem> {
    const std::vector<std::string> without = parse_variant(of.variant).without;
    if (std::ranges::find(without, "match") == without.end()) return std::nullopt;
    return of;
  };
  EXPECT_EQ(reduce(program, problem, {.check = needs_match}).problem.variant, "without match");
}

TEST(Oracles, FindNothingInTheseAndTellKindsApart) {
  Oracles oracles({.targets = {}});
  for (uint64_t seed = 100; seed < 120; ++seed) {
    const Checked checked = oracles.check(generate(seed, {}, {}).program, seed);
    EXPECT_TRUE(checked.valid) << checked.invalid;
    EXPECT_FALSE(checked.problem) << seed << " " << checked.problem->message;
  }
  const Problem one{ProblemKind::kInternal, "passes", "fuse_ops", "x12 is bound twice"};
  Problem other = one;
  other.message = "n7 is bound twice";
  EXPECT_TRUE(one.same_as(other));
  other.message = "n7 is not bound";
  EXPECT_FALSE(one.same_as(other));
  other = one;
  other.pass = "legalize";
  EXPECT_FALSE(one.same_as(other));
}

}  // namespace
}  // namespace tapml::fuzz
