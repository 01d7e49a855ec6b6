// Bisection over the compiler's passes and choices on a small random model: each kind of culprit,
// two at once, none.
#include "topdown/localize/bisect_passes.h"

#include <gtest/gtest.h>

#include "passes/kernel.h"
#include "schedule/rules.h"
#include "support/expect_error.h"
#include "support/sanitized.h"
#include "text/printer.h"
#include "tir/visit.h"
#include "topdown/faults/pass_fault.h"
#include "topdown/report/pass_report.h"
#include "topdown/results/result_json.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

PassBisection bisected(BisectPassesOptions options) {
  options.cache = &kernel_cache();
  auto from = testing::open_session("cpu"), to = testing::open_session("cpu");
  return bisect_passes(small_model().golden.model.module, small_model().golden.model.weights,
                       kPrompt, {target::parse_target("cpu"), from.get(), {}},
                       {target::parse_target("cpu"), to.get(), {}}, options);
}

using Names = std::vector<std::string>;

// `func` with its global results multiplied by 1.5.
tir::PrimFuncRef scaled(const tir::PrimFunc& func) {
  auto result = std::make_shared<tir::PrimFunc>(func);
  result->body = tir::rewrite(func.body, {}, [&](const tir::Stmt& s) -> tir::Stmt {
    if (s->kind != tir::StmtKind::kStore) return nullptr;
    const auto& store = tir::as<tir::StoreNode>(s);
    const bool is_output = std::ranges::any_of(
        func.params, [&](const tir::Param& param) { return param.buffer == store.buffer; });
    if (!is_output) return nullptr;
    return tir::make_store(store.buffer, store.indices,
                           store.value * make_float(1.5, store.buffer->dtype));
  });
  return result;
}

// As text, without annotations.
std::string loops_of(tir::PrimFunc func) {
  func.set_attrs({});
  return text::print(func, "loops");
}

TEST(BisectPasses, ACorrectModelHasNoCulprit) {
  const PassBisection clean = bisected({});
  EXPECT_FALSE(clean.found());
  EXPECT_EQ(clean.runs, 1);
  EXPECT_EQ(pass_bisection_text(clean, false), "nothing is wrong on cpu");
}

TEST(BisectPasses, AnOptionalPassIsNamed) {
  BisectPassesOptions options;
  options.rewrite_pass = wrong_operator_after("common_subexpressions");
  const PassBisection found = bisected(options);
  EXPECT_TRUE(found.found());
  EXPECT_TRUE(found.bare.passed);
  ASSERT_EQ(found.settings.size(), 1u);
  EXPECT_EQ(found.settings[0].settings, Names{"common_subexpressions"});
  EXPECT_FALSE(found.settings[0].check.passed);
  EXPECT_FALSE(found.pass);
}

TEST(BisectPasses, TwoOptionalPassesAreNamedSeparately) {
  if (testing::kSanitized) GTEST_SKIP() << "as with one, and often";
  BisectPassesOptions options;
  options.rewrite_pass = [](const std::string& pass, Module module) {
    return wrong_operator_after("fold_constants")(
        pass, wrong_operator_after("simplify_graph")(pass, std::move(module)));
  };
  const PassBisection found = bisected(options);
  std::set<Names> named;
  for (const SettingCulprit& culprit : found.settings) named.insert(culprit.settings);
  EXPECT_EQ(named, (std::set<Names>{{"simplify_graph"}, {"fold_constants"}}));
}

TEST(BisectPasses, ARequiredPassIsNamed) {
  BisectPassesOptions options;
  options.rewrite_pass = wrong_operator_after("decompose");
  const PassBisection found = bisected(options);
  EXPECT_FALSE(found.bare.passed);
  EXPECT_TRUE(found.settings.empty());
  ASSERT_TRUE(found.pass);
  EXPECT_EQ(found.pass->pass, "decompose");
  EXPECT_FALSE(found.pass->loops);
  EXPECT_NE(found.pass->before, found.pass->after);
}

TEST(BisectPasses, LoopsThatAPassBreaksAreNamed) {
  BisectPassesOptions options;
  // After legalize, the loops of one operator give 1.5 times the result.
  options.rewrite_pass = [](const std::string& pass, Module module) {
    if (pass != "legalize") return module;
    for (const auto& [name, function] : module.functions) {
      if (!passes::is_kernel(function.get()) || !name.starts_with("rms_norm")) continue;
      module.functions[passes::kernel_spec(module, name).facts.implementation] =
          scaled(passes::kernel_implementation(module, name));
      return module;
    }
    ADD_FAILURE() << "no kernel to inject into";
    return module;
  };
  const PassBisection found = bisected(options);
  ASSERT_TRUE(found.pass);
  EXPECT_EQ(found.pass->pass, "legalize");
  EXPECT_TRUE(found.pass->loops);
}

TEST(BisectPasses, AScheduleIsNamedWithItsKernel) {
  // Wrong if a rule scheduled it, right if the fallback did.
  const Module fixed = pipeline::form_kernels(small_model().golden.model.module);
  std::string victim;
  for (const auto& [name, function] : fixed.functions) {
    if (passes::is_kernel(function.get()) && name.starts_with("rms_norm")) victim = name;
  }
  ASSERT_NE(victim, "");
  const target::Target cpu = target::parse_target("cpu");
  const std::string plain =
      loops_of(*schedule::fallback(passes::kernel_implementation(fixed, victim), cpu).func);
  BisectPassesOptions options;
  options.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
    if (name != victim || loops_of(*scheduled) == plain) return scheduled;
    return scaled(*scheduled);
  };
  const PassBisection found = bisected(options);
  EXPECT_TRUE(found.bare.passed);
  ASSERT_EQ(found.settings.size(), 1u);
  EXPECT_EQ(found.settings[0].kernels, Names{victim});
  EXPECT_NE(std::ranges::find(found.settings[0].settings, "schedule_rules"),
            found.settings[0].settings.end());
  EXPECT_NE(pass_bisection_text(found, false).find("on " + victim), std::string::npos);
}

TEST(BisectPasses, AFaultThatRemainsWithoutPassesIsNotAPass) {
  BisectPassesOptions options;
  options.rewrite = [](const std::string& name, tir::PrimFuncRef scheduled) {
    return name.starts_with("take") ? scaled(*scheduled) : scheduled;
  };
  const PassBisection found = bisected(options);
  EXPECT_TRUE(found.found());
  EXPECT_FALSE(found.bare.passed);
  EXPECT_FALSE(found.pass);
  EXPECT_TRUE(found.settings.empty());
  EXPECT_NE(pass_bisection_text(found, false).find("no pass is at fault"), std::string::npos);
  const Json json = pass_bisection_json(found);
  EXPECT_FALSE(json.find("passed")->as_bool());
}

TEST(BisectPasses, FormedKernelsAreRefused) {
  auto session = testing::open_session("cpu");
  const Platform cpu{target::parse_target("cpu"), session.get(), {}};
  testing::expect_user_error(
      [&] {
        bisect_passes(pipeline::form_kernels(small_model().golden.model.module),
                      small_model().golden.model.weights, kPrompt, cpu, cpu, {});
      },
      {"the passes have already run", "--bisect passes", "compiled from"});
}

TEST(BisectPasses, FaultsOfPassesAreChecked) {
  EXPECT_EQ(parse_pass_fault("decompose:wrong-operator"), "decompose");
  EXPECT_FALSE(parse_pass_fault("rms_norm_1:wrong-constant"));
  testing::expect_user_error([] { parse_pass_fault("decompose:crash"); }, {"wrong-operator"});
  testing::expect_user_error([] { parse_pass_fault("fuse_ops:wrong-operator"); },
                             {"no operators are left", "KERNEL:KIND"});
}

}  // namespace
}  // namespace tapml::topdown
