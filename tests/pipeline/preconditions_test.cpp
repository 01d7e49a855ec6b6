// Passes by name: each alone on modules of every kind gives a correct result, or names the missing
// passes and the command that runs them.
#include "pipeline/preconditions.h"

#include <gtest/gtest.h>

#include <cstring>

#include "analysis/verifier.h"
#include "base/line_diff.h"
#include "build/block_builder.h"
#include "pipeline/run_module.h"
#include "support/expect_error.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::pipeline {
namespace {

struct NamedModule {
  const char* name;
  const char* text;
  std::vector<Shape> inputs;  // of main, all f32
};

const std::vector<NamedModule>& modules_of_every_kind() {
  static const std::vector<NamedModule> kModules = {
      {"operators",
       R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = matmul(x, w)
    b: Tensor((n, 4), f32) = relu(a)
    c: Tensor((n*4,), f32) = reshape(b, shape(n*4))
    d: Tensor((n*4,), f32) = exp(c)
    e: Tensor((n, 4), f32) = reshape(d, shape(n, 4))
    output e
  }
  return e
})",
       {{3, 4}, {4, 4}}},
      {"loop",
       R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = for i in range(3) (a: Tensor((n,), f32) = x) {
    b: Tensor((n,), f32) = add(a, x)
    yield b
  }
  return y
})",
       {{5}}},
      {"closure",
       R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  f: Callable((Tensor((n,), f32),), Tensor((n,), f32)) = def (a: Tensor((n,), f32)) -> Tensor((n,), f32) {
    b: Tensor((n,), f32) = add(a, x)
    return b
  }
  y: Tensor((n,), f32) = f(x)
  return y
})",
       {{5}}},
      {"unknown shapes",
       R"(
def main(x: Tensor(ndim=1, f32)) -> Tensor(ndim=1, f32) {
  y: Tensor(ndim=1, f32) = exp(x)
  return y
})",
       {{5}}},
      {"decomposed",
       R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  s: Shape((n, 4)) = shape_of(x)
  o: Tensor((n, 4), f32) = full(s) {value: 2.0, dtype: f32}
  y: Tensor((n, 4), f32) = add(x, o)
  return y
})",
       {{3, 4}}},
      {"data-dependent",
       R"(
def main(x: Tensor((n,), f32)) -> Tensor(ndim=1, f32) {
  u: Tuple(Tensor(ndim=1, f32), Object, Object) = unique(x)
  c: Tensor(ndim=1, f32) = u[0]
  e: Tensor((m,), f32) = match_cast(c, Tensor((m,), f32))
  f: Tensor((m,), f32) = add(e, e)
  return f
})",
       {{6}}},
      {"wide concat",
       R"(
def main(x: Tensor((n,), f32)) -> Tensor((n*7,), f32) {
  dataflow {
    y: Tensor((n*7,), f32) = concat((x, x, x, x, x, x, x)) {axis: 0}
    output y
  }
  return y
})",
       {{3}}},
      {"tensor program",
       R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y: Tensor((n, 4), f32) = call_tir(@mix, (x,), Tensor((n, 4), f32))
    z: Tensor((n, 4), f32) = relu(y)
    output z
  }
  return z
}
prim def mix(a: Buffer((m, 4), f32), out b: Buffer((m, 4), f32), m: i64) {
  alloc w: Buffer((64,), f32)
  for i in serial(64) { w[i] = f32(1.0) }
  for i in serial(m) { for j in serial(4) { b[i, j] = a[i, j]*w[j] } }
})",
       {{3, 4}}},
      {"weights",
       R"(
def main(x: Tensor((n, 4), f32), w: Tensor((3, 4), f32)) -> Tensor((n, 3), f32) {
  dataflow {
    t: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
    e: Tensor((4, 3), f32) = exp(t)
    y: Tensor((n, 3), f32) = matmul(x, e)
    output y
  }
  return y
})",
       {{3, 4}, {3, 4}}},
      {"pattern",
       R"(
def main(x: Tensor((n, 8), f32), w: Tensor((8, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    p: Tensor((n, 8), f32) = matmul(x, w)
    s: Tensor((n, 8), f32) = softmax(p) {axis: -1}
    y: Tensor((n, 8), f32) = add(s, x)
    output y
  }
  return y
}
def scores(a: Tensor((m, k), f32), b: Tensor((k, l), f32)) -> Object {pattern: true} {
  dataflow {
    p: Object = matmul(a, b)
    s: Object = softmax(p) {axis: -1}
    output s
  }
  return s
})",
       {{3, 8}, {8, 8}}},
      {"storage",
       R"(
impure def main(x: Tensor((2, 3), f32)) -> Tensor((3, 2), f32) {
  t: Tensor((3, 2), f32) = view_transpose(x) {axes: [1, 0]}
  y: Tensor((3, 2), f32) = exp(t)
  return y
})",
       {{2, 3}}},
  };
  return kModules;
}

Module read_module(const NamedModule& source) {
  const bool weights = std::strcmp(source.name, "weights") == 0;
  const std::string text =
      std::string("module") + (weights ? " {model.weights: [\"w\"]}" : "") + source.text + "\n";
  return normal_input(text::parse(text, source.name), source.name);
}

Module by_name(Module module, const std::vector<std::string>& passes) {
  int number = 0;
  static const target::Target kTarget = target::parse_target("opencl");
  for (const std::string& pass : passes) module = run_by_name(module, pass, &kTarget, {}, number);
  return module;
}

std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// The passes of a hint "...: --passes a,b,c".
std::vector<std::string> hinted(const Error& error) {
  const std::string option = "--passes ";
  const size_t at = error.hint.find(option);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no command: " << error.to_string();
    return {};
  }
  return listed(error.hint.substr(at + option.size()));
}

std::vector<HostTensor> inputs_of(const NamedModule& source) {
  std::vector<HostTensor> inputs;
  unsigned seed = 1;
  for (const Shape& shape : source.inputs) {
    inputs.push_back(testing::random_tensor(shape, DType::kF32, seed++));
  }
  return inputs;
}

// `result` is well formed, and computes the same as `module`.
void expect_right(const NamedModule& source, const Module& module, const Module& result,
                  const std::string& pass) {
  analysis::verify(result, pass);
  if (is_planned(result)) return;  // the interpreter ignores storage
  build::check_annotations(result, pass);
  // The test does not supply parameters that a pass adds (prepared weights).
  const auto* before = relax::as_relax_function(module.find("main"));
  const auto* after = relax::as_relax_function(result.find("main"));
  if (before->params.size() != after->params.size()) return;
  const std::vector<HostTensor> inputs = inputs_of(source);
  const auto expected = testing::interpret_module(module, inputs);
  const auto found = testing::interpret_module(result, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].shape, expected[i].shape);
    ASSERT_EQ(found[i].values.size(), expected[i].values.size());
    for (size_t e = 0; e < expected[i].values.size(); ++e) {
      EXPECT_NEAR(found[i].values[e], expected[i].values[e], 1e-5) << "element " << e;
    }
  }
}

TEST(Preconditions, EachPassAloneIsCorrectOrNamesMissingPasses) {
  int refused = 0, accepted = 0;
  for (const NamedModule& source : modules_of_every_kind()) {
    const Module module = read_module(source);
    for (const PassInfo& pass : pass_table()) {
      if (!pass.is_function()) continue;
      SCOPED_TRACE(std::string(source.name) + ", " + pass.name);
      auto result = guard([&] { return by_name(module, {pass.name}); });
      if (result) {
        ++accepted;
        expect_right(source, module, *result, pass.name);
        continue;
      }
      ++refused;
      const Error& error = result.error();
      EXPECT_EQ(error.kind, ErrorKind::kUser) << error.to_string();
      EXPECT_NE(error.message.find(std::string("pass ") + pass.name + " requires passes"),
                std::string::npos)
          << error.to_string();
      const std::vector<std::string> passes = hinted(error);
      ASSERT_GT(passes.size(), 1u);
      EXPECT_EQ(passes.back(), pass.name);
      auto whole = guard([&] { return by_name(module, passes); });
      ASSERT_TRUE(whole) << "as the hint says it: " << whole.error().to_string();
      expect_right(source, module, *whole, pass.name);
    }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(accepted, 100);
}

// The whole pipeline by name, on all modules: no pass is refused where compile() runs it.
TEST(Preconditions, HoldWhereTheCompilerRunsThem) {
  for (const NamedModule& source : modules_of_every_kind()) {
    SCOPED_TRACE(source.name);
    Module module = read_module(source);
    for (const PassInfo& pass : pass_table()) {
      if (pass.is_by_name_only()) break;
      if (!pass.is_function()) continue;
      auto next = guard([&] { return by_name(module, {pass.name}); });
      // Matched operators will become a kernel, and other operators may not be supported.
      ASSERT_TRUE(next) << pass.name << ": " << next.error().to_string();
      module = std::move(*next);
    }
    EXPECT_TRUE(is_planned(module));
  }
}

TEST(Preconditions, OnlyPlanningSupportsPlannedMemory) {
  for (const NamedModule& source : modules_of_every_kind()) {
    SCOPED_TRACE(source.name);
    const Module module = read_module(source);
    const Module planned =
        by_name(module, {"lambda_lift", "decompose", "name_shapes", "split_wide_concat",
                         "lower_storage", "legalize", "dead_code", "plan_memory"});
    for (const PassInfo& pass : pass_table()) {
      SCOPED_TRACE(pass.name);
      if (!pass.is_function()) continue;
      if (pass.on_planned) {
        EXPECT_NO_THROW(by_name(planned, {pass.name}));
      } else {
        testing::expect_user_error([&] { by_name(planned, {pass.name}); },
                                   {"planned memory", pass.name, "plan_memory"});
      }
    }
  }
}

TEST(Preconditions, PassesOverOperatorsRequireThem) {
  const Module legal = by_name(read_module(modules_of_every_kind()[0]), {"legalize"});
  for (const PassInfo& pass : pass_table()) {
    if (!pass.on_operators) continue;
    testing::expect_user_error(
        [&] { by_name(legal, {pass.name}); },
        {std::string("pass ") + pass.name + " works on operators", "legalize"});
  }
  EXPECT_NO_THROW(by_name(legal, {"legalize", "common_subexpressions", "dead_code"}));
}

// The text for readers and the list that is checked name the same passes.
TEST(Preconditions, TheTableListsTheChecks) {
  for (const PassInfo& pass : pass_table()) {
    if (!pass.is_function()) continue;  // not checked
    const std::string text = pass.precondition;
    for (const PassInfo& other : pass_table()) {
      // "match" is also an ordinary word.
      const bool named =
          &other != &pass && text.find(other.name) != std::string::npos && text != "nothing";
      const bool checked = std::ranges::any_of(
          pass.after, [&](const char* name) { return std::strcmp(name, other.name) == 0; });
      const bool before = text.find(std::string("before ") + other.name) != std::string::npos ||
                          text.find(std::string("not ") + other.name) != std::string::npos ||
                          text.find(std::string("where ") + other.name) != std::string::npos;
      EXPECT_TRUE(checked || before || !named) << pass.name << " names " << other.name;
    }
    EXPECT_EQ(pass.on_operators, text.starts_with("operators")) << pass.name;
  }
}

TEST(RunByName, AnswersUnknownPassesWithTheNearest) {
  const Module module = read_module(modules_of_every_kind()[0]);
  testing::expect_user_error([&] { by_name(module, {"fuse_op"}); },
                             {"unknown pass", "fuse_op", "did you mean 'fuse_ops'?"});
}

// Launches, code and tables are not modules: these steps run after those of a compilation.
TEST(RunByName, RunsEveryStepOfACompilation) {
  const Module module = read_module(modules_of_every_kind()[0]);
  const Module formed = form_kernels(module);
  const target::Target vulkan = target::parse_target("vulkan");
  std::map<std::string, std::string> texts;
  for (const PassInfo& pass : pass_table()) {
    if (pass.is_function()) continue;
    texts[pass.name] = run_to(pass.name, formed, &vulkan, {.verify = true});
    EXPECT_FALSE(texts[pass.name].empty()) << pass.name;
    if (pass.level != PassLevel::kExecutable) {
      EXPECT_EQ(text::print(text::parse(texts[pass.name], pass.name)), texts[pass.name]);
    }
    testing::expect_user_error([&] { run_to(pass.name, formed, nullptr, {}); },
                               {std::string("pass ") + pass.name + " requires a target"});
    testing::expect_user_error(
        [&] { run_to(pass.name, module, &vulkan, {}); },
        {std::string("pass ") + pass.name + " requires passes that did not run", "legalize"});
  }
  EXPECT_GE(texts.size(), 8u);
  auto has = [&](const char* step, const char* text) {
    return texts[step].find(text) != std::string::npos;
  };
  EXPECT_TRUE(has("list_kernels", "block \"") && !has("lower_launches", "block \""));
  EXPECT_TRUE(has("record_requirements", "def main("));
  EXPECT_TRUE(has("generate_code", "spirv") && !has("generate_code", "function main"));
  EXPECT_TRUE(has("lower_functions", "function main"));
}

TEST(RunByName, KernelLevelStepsNeedATarget) {
  const Module module = by_name(read_module(modules_of_every_kind()[0]), {"legalize"});
  int number = 0;
  testing::expect_user_error([&] { run_by_name(module, "schedule", nullptr, {}, number); },
                             {"pass schedule requires a target", "--target"});
  const target::Target cpu = target::parse_target("cpu");
  const Module scheduled = run_by_name(module, "schedule", &cpu, {}, number);
  EXPECT_NE(text::print(scheduled).find("parallel("), std::string::npos) << text::print(scheduled);
  // exp of OpenCL is within 2 ULP only as a polynomial; on CPUs it always is one.
  const Module math = by_name(scheduled, {"lower_math"});
  for (const auto& [name, function] : math.functions) {
    if (!tir::as_prim_func(function.get())) continue;
    const std::string program = text::print(*function, name);
    EXPECT_EQ(program.find(" exp("), std::string::npos) << program;
  }
}

TEST(RunByName, ReportsChanges) {
  const Module module = read_module(modules_of_every_kind()[0]);
  std::vector<PassEffect> effects;
  Instruments instruments;
  instruments.effect = [&](const PassEffect& effect) { effects.push_back(effect); };
  instruments.diffs = true;
  int number = 0;
  Module legal = run_by_name(module, "canonicalize", nullptr, instruments, number);
  legal = run_by_name(legal, "legalize", nullptr, instruments, number);
  run_by_name(legal, "legalize", nullptr, instruments, number);
  ASSERT_EQ(effects.size(), 3u);
  EXPECT_FALSE(effects[0].changed());
  EXPECT_TRUE(effect_text(effects[0]).starts_with("pass canonicalize: unchanged ("));
  EXPECT_EQ(effects[1].number, 2);
  EXPECT_EQ(effects[1].altered, 1);  // main
  EXPECT_EQ(effects[1].added, 6);    // three kernels, each with its implementation
  EXPECT_EQ(effects[1].removed, 0);
  EXPECT_TRUE(
      effect_text(effects[1]).starts_with("pass legalize: changed 7 functions: 1 altered, 6 new ("))
      << effect_text(effects[1]);
  const std::string& diff = effects[1].diff;
  EXPECT_TRUE(diff.starts_with("--- before legalize\n+++ after legalize\n@@ -")) << diff;
  EXPECT_NE(diff.find("\n-    b: Tensor((n, 4), f32) = relu(a)\n"), std::string::npos) << diff;
  EXPECT_NE(diff.find("\n+    b: Tensor((n, 4), f32) = call_tir(@relu_"), std::string::npos)
      << diff;
  EXPECT_FALSE(effects[2].changed());
  EXPECT_TRUE(effects[2].diff.empty());
  // The unchanged lines and the new ones form the text.
  std::string made;
  size_t hunks = 0;
  for (const std::string_view line : split_lines(diff)) {
    hunks += line.starts_with("@@") ? 1 : 0;
    if (hunks > 0 && (line[0] == ' ' || line[0] == '+')) made += std::string(line.substr(1)) + "\n";
  }
  EXPECT_EQ(hunks, 1u);
  EXPECT_EQ(made, text::print(legal));
}

}  // namespace
}  // namespace tapml::pipeline
