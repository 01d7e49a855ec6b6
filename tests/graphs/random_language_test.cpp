// Random programs with every construct of the language: the reference against compiled code on
// every platform, with every optimization and without one, with patterns, with library routines and
// with bounds of symbolic variables; interpreted loops, the text form, and the verifier after each
// pass.
//
// TAPML_GRAPHS=n programs with fixed seeds (66), then fresh ones for TAPML_GRAPH_SECONDS (2).
// TAPML_SEED=s runs that program alone.
#include <gtest/gtest.h>

#include <cstring>

#include "analysis/verifier.h"
#include "arms.h"
#include "build/block_builder.h"
#include "constructs.h"
#include "device/cpu/library/host_library.h"
#include "fuzz/language/language.h"
#include "fuzz/language/patterns.h"
#include "fuzz/oracles/vm_values.h"
#include "fuzz/program.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/language_case.h"
#include "support/library_calls.h"
#include "support/random_arguments.h"
#include "support/refusals.h"
#include "support/seeds.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::testing {
namespace {

using namespace fuzz;  // NOLINT: the generators

constexpr uint64_t kFixedPrograms = 66;

RandomLanguageProgram program_of(uint64_t seed) {
  RandomStream rng(seed, "size");
  return LanguageGenerator(seed).make(static_cast<int>(2 + rng.below(10)));
}

// Passes may share symbolic variables between signatures, which get other names.
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

interp::Value evaluated_program(const Module& module, const std::vector<interp::Value>& arguments,
                                interp::KernelBody body) {
  interp::CallOptions options;
  options.body = body;
  options.packed = language_functions();
  options.allowed.relaxed_division = true;  // OpenCL and Vulkan document it
  return interp::call(module, "main", arguments, options);
}

using Sessions = std::vector<std::pair<std::string, std::unique_ptr<runtime::Session>>>;

// The cpu with the example library, and other available platforms.
Sessions open_sessions() {
  Sessions sessions;
  device::HostLibraries libraries = {
      unwrap(device::HostLibrary::load(std::string(TAPML_LIBRARY_FOLDER) + "/example.so"))};
  sessions.emplace_back("cpu",
                        unwrap(runtime::LocalSession::create(std::make_shared<device::CpuDevice>(
                            0, codegen::make_jit_loader(), std::move(libraries)))));
  for (const char* platform : {"opencl", "vulkan", "wasm"}) {
    if (auto session = open_session(platform)) sessions.emplace_back(platform, std::move(session));
  }
  return sessions;
}

// GPU drivers compile slowly: they get one program in this many.
uint64_t share_of_programs(const std::string& platform) {
  return platform == "cpu" ? 1 : platform == "opencl" ? 3 : 6;
}

// Refused by design: tensors whose shape is unknown.
bool is_refusal(const Error& error) {
  auto says = [&](const char* text) { return error.message.find(text) != std::string::npos; };
  return error.kind == ErrorKind::kUser &&
         (says("has no known shape and dtype") || says("has no known rank and dtype") ||
          says("is not known well enough"));
}

class LanguagePrograms {
 public:
  explicit LanguagePrograms(const Sessions& sessions) : sessions_(sessions) {}

  void run(uint64_t seed) {
    SCOPED_TRACE("TAPML_SEED=" + std::to_string(seed));
    rng_ = RandomStream(seed, "arms");
    arm_ = "generator";
    try {
      const RandomLanguageProgram program = program_of(seed);
      SCOPED_TRACE(text::print(program.module));
      run(seed, program);
    } catch (const CompilerException& exception) {
      if (!is_refusal(exception.error())) {
        ADD_FAILURE() << arm_ << ": " << exception.error().to_string();
      }
    }
  }

  // The constructs of the compiled programs, by kind.
  Constructs occurred;
  OpenTally open;  // elements without a bound

 private:
  void run(uint64_t seed, const RandomLanguageProgram& program) {
    arm_ = "input";
    pipeline::check_input(program.module, "input");
    expect_program_text(program.module, true);
    EXPECT_EQ(patterns_without_match(program.module), std::vector<std::string>());
    const interp::Value expected =
        evaluated_program(program.module, program.arguments, interp::KernelBody::kSpec);
    for (const auto& [platform, session] : sessions_) {
      if (seed % share_of_programs(platform) != 0) continue;
      for (const Arm& arm : arms_of(platform, program.module, program.arguments, rng_)) {
        arm_ = arm.text;
        SCOPED_TRACE(arm_);
        run_arm(arm, *session, program, expected);
      }
      ++occurred["programs on " + platform];
    }
    arm_ = "above a bound";
    expect_bound_kept(program);
  }

  // A random program may use a result at the edge of a function's domain, such as the root of a
  // difference of equal numbers.
  OpenElements open_elements() {
    return {"a random program may use a result at the edge of a function's domain", open};
  }

  void run_arm(const Arm& arm, runtime::Session& session, const RandomLanguageProgram& program,
               const interp::Value& expected) {
    Module fixed = fixed_without(
        arm.library_calls ? with_library_calls(program.module) : program.module, arm.omitted);
    expect_program_text(fixed, false);
    // The interpreter does not support library routines.
    if (arm.target.starts_with("cpu") && !arm.library_calls) {
      EXPECT_EQ(
          difference_beyond_bounds(
              expected, evaluated_program(fixed, program.arguments, interp::KernelBody::kLoops),
              open_elements()),
          "")
          << "interpreted loops";
    }
    const target::Target target = target::parse_target(arm.target);
    std::shared_ptr<const Executable> executable;
    try {
      executable = pipeline::implement(fixed, target, arm.options);
    } catch (const CompilerException& exception) {
      if (!is_declared_refusal(exception.error(), target)) throw;
      return;
    }
    count_routines(*executable, occurred);
    if (!arm.options.memory.bounds.empty() && !executable->static_storages.empty()) {
      ++occurred["static storages"];
    }
    expect_machine(session, executable, program.arguments, expected);
  }

  // The pipeline up to where kernels are formed, without one pass.
  Module fixed_without(Module module, const std::string& omitted) {
    for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
      if (!pass.is_common()) break;
      if (omitted == pass.name) continue;
      module = pass.run(module);
      analysis::verify(module, pass.name);
      build::check_annotations(module, pass.name);
      if (std::strcmp(pass.name, "match") == 0) count_matches(module, occurred);
    }
    return module;
  }

  void expect_machine(runtime::Session& session,
                      const std::shared_ptr<const Executable>& executable,
                      const std::vector<interp::Value>& arguments, const interp::Value& expected) {
    auto vm = runtime::LocalVirtualMachine::create(
        session, executable, machine_functions(*executable, language_functions()));
    ASSERT_TRUE(vm) << vm.error().to_string();
    // Twice: state that one run leaves must not change the next.
    for (int run = 0; run < 2; ++run) {
      auto result = call_main(session, **vm, *executable, arguments);
      ASSERT_TRUE(result) << result.error().to_string();
      EXPECT_EQ(difference_beyond_bounds(expected, from_machine(*result), open_elements()), "")
          << "run " << run;
    }
  }

  static Result<runtime::Value> call_main(runtime::Session& session,
                                          runtime::LocalVirtualMachine& vm,
                                          const Executable& executable,
                                          const std::vector<interp::Value>& arguments) {
    std::vector<runtime::Value> args;
    for (const interp::Value& argument : arguments) {
      args.push_back(to_machine(session, executable, argument));
    }
    return vm.call("main", args);
  }

  // Arguments that exceed a bound by one are refused before anything runs, so no code is needed.
  void expect_bound_kept(const RandomLanguageProgram& program) {
    if (!rng_.chance(0.3)) return;
    std::vector<std::pair<std::string, int64_t>> extents;
    for (const auto& extent : fuzz::extents_of(program.module, program.arguments)) {
      if (extent.second > 0) extents.push_back(extent);
    }
    if (extents.empty()) return;
    const auto& [name, extent] = op::pick(extents, rng_);
    pipeline::ImplementOptions options;
    options.memory.bounds[name] = extent - 1;
    auto executable = pipeline::compile(program.module, target::parse_target("null"), options);
    auto session = open_session("null");
    auto vm = unwrap(runtime::LocalVirtualMachine::create(
        *session, executable, machine_functions(*executable, language_functions())));
    auto result = call_main(*session, *vm, *executable, program.arguments);
    ASSERT_FALSE(result) << name << " may be above its bound";
    EXPECT_EQ(result.error().kind, ErrorKind::kUser);
    expect_parts(result.error(),
                 {"bound", "main", name + " <= " + std::to_string(options.memory.bounds[name])});
    ++occurred["arguments above a bound"];
  }

  const Sessions& sessions_;
  RandomStream rng_{0, "arms"};
  std::string arm_;
};

TEST(RandomLanguage, DrawsEveryConstruct) {
  // Which programs have a rare construct changes with every operator that is added to the table.
  constexpr uint64_t kDrawn = 10 * kFixedPrograms;
  Constructs counts;
  for (uint64_t seed = 0; seed < kDrawn; ++seed) {
    count_constructs(program_of(seed).module, counts);
  }
  expect_all(counts, {"def",
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
                      "layer_norm"});
}

TEST(RandomLanguage, AgreesWithTheReference) {
  Sessions sessions = open_sessions();
  LanguagePrograms programs(sessions);
  Seeds seeds(kFixedPrograms);
  uint64_t count = 0;
  int failures = 0;
  OpenTally of_fixed;
  while (auto seed = seeds.next()) {
    const ::testing::TestResult& result =
        *::testing::UnitTest::GetInstance()->current_test_info()->result();
    int parts = result.total_part_count();
    programs.run(*seed);
    if (count + 1 == kFixedPrograms) of_fixed = programs.open;
    // Kernels stay loaded as long as their session.
    if (++count % 250 == 0) sessions = open_sessions();
    // A few findings tell more than one; many are usually one bug.
    if (result.total_part_count() > parts && ++failures == 5) break;
  }
  printf("%d programs; %.2f%% of the elements of the fixed ones have no bound\n",
         static_cast<int>(count), 100 * of_fixed.share());
  EXPECT_LT(of_fixed.share(), 0.1) << "the programs test too little";
  for (const auto& [name, times] : programs.occurred) printf("  %s: %d\n", name.c_str(), times);
  if (count < kFixedPrograms || failures > 0) return;
  std::vector<std::string> expected = {"cut out by a pattern", "static storages",
                                       "arguments above a bound", "library:example"};
  for (const std::string& name : libraries_here()) expected.push_back(name);
  for (const auto& [platform, session] : sessions) expected.push_back("programs on " + platform);
  expect_all(programs.occurred, expected);
}

}  // namespace
}  // namespace tapml::testing
