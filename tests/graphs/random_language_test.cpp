// Random programs with every construct of the language: the judge against compiled code on every
// platform, with every optimization and without one, the loops interpreted, the text form, and the
// verifier after each pass.
//
// TAPML_GRAPHS=n programs with fixed seeds (60), then fresh ones for TAPML_GRAPH_SECONDS (2).
// TAPML_SEED=s runs that program alone.
#include "support/random_language.h"

#include <gtest/gtest.h>

#include <cstring>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/language_case.h"
#include "support/random_arguments.h"
#include "support/refusals.h"
#include "support/seeds.h"
#include "support/sessions.h"
#include "support/vm_values.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::testing {
namespace {

// Passes that a program is right without.
const std::vector<const char*> kOptimizations = {
    "match",    "inline_functions",      "dead_code", "simplify_graph",
    "fuse_ops", "common_subexpressions", "",          "fold_constants"};

// What passes make may share symbolic variables between signatures, which takes other names.
void expect_program_text(const Module& module, bool parsed) {
  text::SideTensors side;
  std::string text = text::print(module, &side);
  Module back = text::parse(text, "graph", {.side = &side});
  std::string difference;
  EXPECT_TRUE(text::structural_equal(module, back, {.origins = true, .difference = &difference}))
      << difference;
  if (parsed) {
    EXPECT_EQ(text::print(back), text);
  }
}

interp::Value judged_program(const Module& module, const std::vector<interp::Value>& arguments,
                             interp::KernelBody body) {
  interp::CallOptions options;
  options.body = body;
  options.packed = language_functions();
  return interp::call(module, "main", arguments, options);
}

// The pipeline up to where kernels are fixed, without one pass.
Module fixed_without(Module module, const std::string& omitted) {
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (std::strcmp(pass.phase, "plan") == 0) break;
    if (omitted == pass.name) continue;
    module = pass.run(module);
    analysis::verify(module, pass.name);
    build::check_annotations(module, pass.name);
  }
  return module;
}

void expect_machine(runtime::Session& session, const std::shared_ptr<const Executable>& executable,
                    const std::vector<interp::Value>& arguments, const interp::Value& expected) {
  auto vm = runtime::VirtualMachine::create(session, executable,
                                            machine_functions(*executable, language_functions()));
  ASSERT_TRUE(vm) << vm.error().to_string();
  // Twice: what one run leaves behind must not change the next.
  for (int run = 0; run < 2; ++run) {
    std::vector<runtime::Value> args;
    for (const interp::Value& argument : arguments) {
      args.push_back(to_machine(session, *executable, argument));
    }
    auto result = (*vm)->call("main", args);
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(difference_beyond_bounds(expected, from_machine(*result)), "") << "run " << run;
  }
}

// What is refused by design: tensors of which nobody says a shape.
bool is_refusal(const Error& error) {
  auto says = [&](const char* text) { return error.message.find(text) != std::string::npos; };
  return error.kind == ErrorKind::kUser &&
         (says("has no known shape and dtype") || says("has no known rank and dtype") ||
          says("is not known well enough"));
}

using Sessions = std::vector<std::pair<std::string, std::unique_ptr<runtime::Session>>>;

// Drivers of GPUs compile slowly: of so many programs they get one.
uint64_t share_of_programs(const std::string& platform) {
  return platform == "cpu" ? 1 : platform == "opencl" ? 8 : 6;
}

void run_program(uint64_t seed, const Sessions& sessions) {
  RandomStream rng(seed, "arms");
  RandomLanguageProgram program = LanguageGenerator(seed).make(static_cast<int>(2 + rng.below(10)));
  SCOPED_TRACE("TAPML_SEED=" + std::to_string(seed) + "\n" + text::print(program.module));
  std::string arm = "input";
  try {
    pipeline::check_input(program.module, "input");
    expect_program_text(program.module, true);
    const interp::Value expected =
        judged_program(program.module, program.arguments, interp::KernelBody::kSpec);
    const std::vector<std::string> omissions = {
        "", kOptimizations[rng.below(static_cast<uint32_t>(kOptimizations.size()))]};
    for (const auto& [platform, session] : sessions) {
      if (seed % share_of_programs(platform) != 0) continue;
      const bool is_cpu = platform == "cpu";
      pipeline::ImplementOptions options;
      options.instruments.verify = true;
      target::Target target = target::parse_target(platform);
      for (size_t a = 0; a < (is_cpu ? omissions.size() : 1); ++a) {
        arm = target.text + (a ? " without '" + omissions[a] + "'" : "");
        if (a && rng.chance(0.3)) {
          arm += ", tensors do not share storage";
          options.memory.reuse = false;
          options.memory.in_place = false;
        }
        SCOPED_TRACE(arm);
        Module fixed = fixed_without(program.module, omissions[a]);
        expect_program_text(fixed, false);
        if (is_cpu) {
          EXPECT_EQ(difference_beyond_bounds(expected, judged_program(fixed, program.arguments,
                                                                      interp::KernelBody::kLoops)),
                    "")
              << "interpreted loops";
        }
        std::shared_ptr<const Executable> executable;
        try {
          executable = pipeline::implement(fixed, target, options);
        } catch (const CompilerException& exception) {
          if (!is_declared_refusal(exception.error(), target)) throw;
          continue;
        }
        expect_machine(*session, executable, program.arguments, expected);
      }
    }
  } catch (const CompilerException& exception) {
    if (!is_refusal(exception.error())) {
      ADD_FAILURE() << arm << ": " << exception.error().to_string();
    }
  }
}

TEST(RandomLanguage, AgreesWithTheJudge) {
  Sessions sessions;
  for (const char* platform : {"cpu", "opencl", "vulkan", "wasm"}) {
    if (auto session = open_session(platform)) sessions.emplace_back(platform, std::move(session));
  }
  Seeds seeds(60);
  int count = 0, failures = 0;
  while (auto seed = seeds.next()) {
    const ::testing::TestResult& result =
        *::testing::UnitTest::GetInstance()->current_test_info()->result();
    int parts = result.total_part_count();
    run_program(*seed, sessions);
    ++count;
    // A few findings say more than one; many are one bug.
    if (result.total_part_count() > parts && ++failures == 5) break;
  }
  printf("%d programs\n", count);
}

}  // namespace
}  // namespace tapml::testing
