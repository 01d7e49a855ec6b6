// The steps of a compilation: their order, and what the instruments see of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "pipeline/compile.h"
#include "steps_program.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::pipeline {
namespace {

std::vector<std::string> names_of(const std::vector<std::pair<std::string, double>>& times) {
  std::vector<std::string> names;
  for (const auto& [name, seconds] : times) names.push_back(name);
  return names;
}

std::vector<std::string> steps_for(const char* target, ImplementOptions options = {}) {
  std::vector<std::pair<std::string, double>> times;
  options.instruments.times = &times;
  options.instruments.verify = true;
  compile(text::parse(kStepsProgram, "program"), target::parse_target(target), options);
  return names_of(times);
}

std::vector<std::string> table_without(const std::set<std::string>& omitted) {
  std::vector<std::string> names;
  for (const PassInfo& pass : pass_table()) {
    if (!pass.is_by_name_only() && !omitted.contains(pass.name)) names.emplace_back(pass.name);
  }
  return names;
}

TEST(Steps, RunInTheOrderOfTheTable) {
  for (const char* target : {"cpu", "opencl", "vulkan", "null"}) {
    EXPECT_EQ(steps_for(target), table_without({"unmark_weights", "order_bindings"})) << target;
  }
  ImplementOptions options;
  leave_out({"hoist_weight_prepacking", "fuse_ops"}, "test", options);
  options.memory.order_for = {{"n", 4}};
  EXPECT_EQ(steps_for("null", options), table_without({"fuse_ops"}));
  options = {};
  leave_out({"lift_workspaces"}, "test", options);
  EXPECT_EQ(steps_for("null", options),
            table_without({"unmark_weights", "order_bindings", "lift_workspaces"}));
}

TEST(Steps, SkipsOptionalSteps) {
  const Module module = text::parse(kStepsProgram, "program");
  const target::Target target = target::parse_target("cpu");
  auto implementation = [&](const char* omitted) {
    ImplementOptions options;
    if (*omitted) leave_out({omitted}, "test", options);
    return compile(module, target, options)->implementations;
  };
  int prepared = 0, fallbacks = 0;
  for (const Implementation& one : implementation("")) {
    prepared += has_prepared(one);
    fallbacks += one.provider == "schedule:fallback";
  }
  EXPECT_GT(prepared, 0);
  for (const Implementation& one : implementation("hoist_weight_prepacking")) {
    EXPECT_FALSE(has_prepared(one));
  }
  const auto unscheduled = implementation("schedule");
  EXPECT_LT(fallbacks, std::ssize(unscheduled));
  for (const Implementation& one : unscheduled) EXPECT_EQ(one.provider, "schedule:fallback");
  ImplementOptions options;
  testing::expect_user_error([&] { leave_out({"lower_launches"}, "--skip-pass", options); },
                             {"cannot be skipped", "schedule", "lower_launches"});
}

TEST(Steps, AreDumpedAndReadAgain) {
  testing::TempFolder folder;
  const std::string dumps = folder / "dumps";
  ImplementOptions options;
  options.instruments.dump_folder = dumps;
  std::vector<PassEffect> effects;
  options.instruments.effect = [&](const PassEffect& effect) { effects.push_back(effect); };
  compile(text::parse(kStepsProgram, "program"), target::parse_target("vulkan"), options);
  const auto ran = table_without({"unmark_weights", "order_bindings"});
  ASSERT_EQ(effects.size(), ran.size());
  std::map<std::string, std::string> texts;
  for (size_t i = 0; i < ran.size(); ++i) {
    EXPECT_EQ(effects[i].pass, ran[i]);
    char number[8];
    std::snprintf(number, sizeof number, "%02d_", effects[i].number);
    const bool code = find_pass(ran[i])->level == PassLevel::kExecutable;
    const std::string path = dumps + "/" + number + ran[i] + (code ? ".log" : ".txt");
    texts[ran[i]] = testing::read_bytes(path);
    if (code) continue;
    EXPECT_EQ(text::print(text::parse(texts[ran[i]], path)), texts[ran[i]]) << path;
  }
  auto has = [&](const char* step, const char* text) {
    return texts[step].find(text) != std::string::npos;
  };
  EXPECT_TRUE(has("list_kernels", "serial(n)"));
  EXPECT_TRUE(has("schedule", "tanh(") && !has("lower_math", "tanh(")) << texts["lower_math"];
  EXPECT_TRUE(has("list_kernels", "block \"") && !has("lower_launches", "block \""));
  EXPECT_TRUE(has("lower_launches", "n: i64") && !has("narrow_indices", "n: i64"))
      << texts["narrow_indices"];
  EXPECT_TRUE(has("narrow_indices", "n: i32"));
  EXPECT_TRUE(has("record_requirements", "requires {workspace: "));
  EXPECT_TRUE(has("generate_code", "module 0: vulkan, spirv, "));
  EXPECT_TRUE(has("lower_functions", "function main: ")) << texts["lower_functions"];
}

TEST(Steps, TheResultDoesNotDependOnThreads) {
  const Module module = text::parse(kStepsProgram, "program");
  for (const char* target : {"cpu", "opencl"}) {
    ImplementOptions one, many;
    one.threads = 1;
    many.threads = 8;
    const auto a = compile(module, target::parse_target(target), one);
    const auto b = compile(module, target::parse_target(target), many);
    ASSERT_EQ(a->modules.size(), b->modules.size());
    for (size_t i = 0; i < a->modules.size(); ++i) {
      EXPECT_EQ(a->modules[i].bytes, b->modules[i].bytes) << target;
      EXPECT_EQ(a->modules[i].entries, b->modules[i].entries) << target;
    }
  }
}

// On many threads, the first failing kernel in order is the one that is reported.
TEST(Steps, TheFirstKernelThatFailsIsReported) {
  Module module = form_kernels(text::parse(kStepsProgram, "program"));
  std::vector<std::string> kernels;
  for (const auto& [name, function] : module.functions) {
    if (passes::is_kernel(function.get())) kernels.push_back(name);
  }
  ASSERT_GE(kernels.size(), 2u);
  ImplementOptions options;
  options.rewrite = [&](const std::string& name, tir::PrimFuncRef func) {
    auto broken = std::make_shared<tir::PrimFunc>(*func);
    const tir::Buffer scratch = tir::make_buffer(name, DType::kF32, {4});
    // Scratch memory inside a loop: no launch can have it.
    broken->body = tir::make_for(make_var("i"), 4, tir::make_alloc(scratch, func->body),
                                 tir::ForKind::kParallel);
    return broken;
  };
  for (int i = 0; i < 20; ++i) {
    auto result = guard([&] { return compile(module, target::parse_target("null"), options); });
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().to_string().find(kernels[0]), std::string::npos)
        << result.error().to_string();
  }
}

}  // namespace
}  // namespace tapml::pipeline
