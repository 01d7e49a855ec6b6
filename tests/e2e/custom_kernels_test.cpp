// Custom kernels in the program: output, exit codes, watch mode.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;
using testing::write_bytes;

constexpr const char* kKernel = "rms_norm_485247dc";

// C, one work item per row.
constexpr const char* kRmsNorm =
    R"(// prim def rms_norm(x: Buffer((b, n, 192), f32), weight: Buffer((192,), bf16),
//                   out out: Buffer((b, n, 192), f32), b: i64, n: i64)
// launch rms_norm(x, weight, out) over b * n in groups of 8
#include <math.h>
#include <string.h>
void rms_norm(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end) {
  const float* x = buffers[0];
  const uint16_t* weight = buffers[1];
  float* out = buffers[2];
  for (int64_t row = begin; row < end; ++row) {
    float sum = 0;
    for (int k = 0; k < 192; ++k) sum += x[row * 192 + k] * x[row * 192 + k];
    const float scale = 1 / sqrtf(sum / 192 + 1e-5f);
    for (int k = 0; k < 192; ++k) {
      const uint32_t bits = (uint32_t)weight[k] << 16;
      float w;
      memcpy(&w, &bits, 4);
      out[row * 192 + k] = x[row * 192 + k] * scale * w;
    }
  }
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no " << from;
    return text;
  }
  return text.replace(at, from.size(), to);
}

// A suite of the demo model, carved once.
const std::string& demo_suite() {
  static const TempFolder kFolder;
  static const std::string kSuite = [] {
    const std::string suite = kFolder / "suite";
    ProgramResult result = run_program(
        {"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "2", "-o", suite});
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return suite;
  }();
  return kSuite;
}

class CustomKernelProgram : public ::testing::Test {
 protected:
  std::vector<std::string> replay(std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"replay",           demo_suite(),  "--target", "cpu:threads=1",
                                     "--custom-kernels", folder_ / ".", "--kernel", kKernel};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  void save(const std::string& text) const { write_bytes(folder_ / "rms.c", text); }
  TempFolder folder_;
};

TEST_F(CustomKernelProgram, ReplayNamesTheFileOfAKernel) {
  save(kRmsNorm);
  ProgramResult result = run_program(replay({"--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  const std::string file = folder_ / "./rms.c";
  EXPECT_EQ(json.find("custom_kernels")->find(kKernel)->as_string(), file);
  EXPECT_EQ(json.find("kernels")->items().at(0).find("provider")->as_string(), "user:" + file);
  result = run_program(replay());
  EXPECT_NE(result.out.find("custom kernels: " + std::string(kKernel) + " (" + file + ")"),
            std::string::npos)
      << result.all();
}

TEST_F(CustomKernelProgram, MigrateRunsTheModelWithThem) {
  save(kRmsNorm);
  ProgramResult result =
      run_program({"migrate", kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                   "Emma was", "--max-tokens", "2", "--custom-kernels", folder_ / ".", "--report",
                   folder_ / "report", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_EQ(json.find("custom_kernels")->members().size(), 1u);
  EXPECT_TRUE(json.find("target_ran_alone")->as_bool());
  const std::string page = testing::read_bytes(folder_ / "report/report.html");
  EXPECT_NE(page.find("user:" + (folder_ / "./rms.c")), std::string::npos);
}

TEST_F(CustomKernelProgram, TheCommandOfThePageReproducesTheFailure) {
  save(replaced(kRmsNorm, "sum / 192", "sum / 96"));
  const std::string report = folder_ / "report";
  ProgramResult result =
      run_program({"migrate", kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                   "Emma was", "--max-tokens", "1", "--custom-kernels", folder_ / ".",
                   "--stop-at-first", "--report", report});
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const std::string page = testing::read_bytes(report + "/report.html");
  const std::string kernel = kKernel;
  const std::string line = "tapml replay '" + kernel + "/suite' --target 'cpu:threads=1' " +
                           "--custom-kernels '" + kernel + "/kernels'";
  EXPECT_NE(page.find("<pre>" + line + "</pre>"), std::string::npos);
  EXPECT_EQ(testing::run_line(report, line), 1);
  write_bytes(report + "/" + kernel + "/kernels/rms.c", kRmsNorm);
  EXPECT_EQ(testing::run_line(report, line), 0) << "the mended source";
}

TEST_F(CustomKernelProgram, HangsAndCrashesAreFindings) {
  save(replaced(kRmsNorm, "float sum = 0;", "float sum = 0; volatile int on = 1; while (on) { }"));
  ProgramResult result = run_program(replay({"--kernel-timeout", "1", "--json"}));
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const Json timeout = result.json();
  EXPECT_EQ(timeout.find("kernels")->items().at(0).find("failed")->as_string(), "timeout");
  save(replaced(kRmsNorm, "float* out = buffers[2];", "float* out = (float*)16;"));
  result = run_program(replay({"--json"}));
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const Json crash = result.json();
  EXPECT_EQ(crash.find("kernels")->items().at(0).find("failed")->as_string(), "crash");
}

// Side effects of a launch outside its outputs.
TEST_F(CustomKernelProgram, ForbiddenSideEffectsAreFindings) {
  struct Case {
    const char *statement, *failed, *text;
  };
  const std::string last = "      out[row * 192 + k] = x[row * 192 + k] * scale * w;\n    }\n";
  for (const Case& one :
       {Case{"if (row == 0) for (int i = 0; i < 75; ++i) out[1920 + i] = 1;", "out of bounds",
             "bytes after out"},
        Case{"if (row == 0) out[400000] = 1;", "out of bounds", "bytes after out: "},
        Case{"if (row == 0) printf(\"row %d\\n\", 0);", "side effect",
             "writes to a standard stream: \"row 0\\n\""},
        Case{"if (row == 0) fputs(\"oh\", stderr);", "side effect",
             "writes to a standard stream: \"oh\""},
        Case{"fesetround(FE_UPWARD);", "side effect",
             "floating-point environment changed: rounds up"},
        Case{"feenableexcept(FE_DIVBYZERO);", "side effect", "other exceptions trap"}}) {
    save(replaced(replaced(kRmsNorm, last, last + "    " + one.statement + "\n"),
                  "#include <math.h>",
                  "#define _GNU_SOURCE\n#include <fenv.h>\n#include <math.h>\n#include <stdio.h>"));
    const ProgramResult result = run_program(replay({"--json"}));
    ASSERT_EQ(result.exit_code, 1) << one.statement << "\n" << result.all();
    const Json row = result.json().find("kernels")->items().at(0);
    EXPECT_EQ(row.find("failed")->as_string(), one.failed) << one.statement;
    EXPECT_NE(row.find("failure")->as_string().find(one.text), std::string::npos)
        << row.find("failure")->as_string();
  }
}

std::string with_counter(const std::string& condition) {
  return replaced(
      replaced(kRmsNorm, "float sum = 0;", "float sum = wrong ? 1000 : 0;"),
      "  float* out = buffers[2];\n",
      "  float* out = buffers[2];\n  static int launches = 0;\n  launches += begin == 0;\n"
      "  const int wrong = " +
          condition + ";\n");
}

// A kernel is blamed for launches of its own tests only: neither kernels that read its results nor
// kernels whose memory it overwrites are blamed.
TEST_F(CustomKernelProgram, OnlyTheKernelWithFailedLaunchesIsNamed) {
  const std::vector<std::string> one = {kKernel};
  const std::string last = "for (int64_t row = begin; row < end; ++row) {\n";
  for (const auto& [source, outcome] :
       {std::pair{with_counter("launches == 5"), "mismatch"},
        std::pair{with_counter("launches % 5 == 3"), "mismatch"},
        // Also in the fresh process that it gets after others have run.
        std::pair{replaced(with_counter("launches == 9"), "float sum = wrong ? 1000 : 0;",
                           "float sum = 0; if (wrong) __builtin_trap();"),
                  "crash"},
        std::pair{replaced(kRmsNorm, last, "out[1 << 18] = 1;\n  " + last), "out of bounds"}}) {
    save(source);
    ProgramResult result = run_program(replay({"--json"}));
    ASSERT_EQ(result.exit_code, 1) << source << "\n" << result.all();
    const Json replayed = result.json();
    const Json& row = replayed.find("kernels")->items().at(0);
    if (outcome == std::string("mismatch")) {
      EXPECT_GE(row.find("launches")->find("count")->as_integer(), 20);
      EXPECT_GE(row.find("launches")->find("wrong")->as_integer(), 1);
      EXPECT_TRUE(row.find("launches")->find("flaky")->as_bool());
    }
    // --kernels is the short form of --custom-kernels.
    for (const char* command : {"migrate", "localize"}) {
      result =
          run_program({command, kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                       "Emma was", "--max-tokens", "2", "--json", "--kernels", folder_ / "."});
      EXPECT_EQ(result.exit_code, 1) << command << "\n" << result.all();
      const Json json = result.json();
      EXPECT_EQ(testing::strings(json.find("culprits")), one) << command << "\n" << source;
      EXPECT_TRUE(json.find("flaky")->items().empty()) << command << "\n" << source;
      for (const Json& kernel : json.find("kernels")->items()) {
        if (kernel.find("kernel")->as_string() != kKernel) continue;
        EXPECT_EQ(kernel.find("outcome")->as_string(), outcome) << command;
      }
    }
  }
}

TEST_F(CustomKernelProgram, BadSourcesAreInputErrors) {
  save(replaced(kRmsNorm, "1e-5f", "epsilon"));
  expect_failure(replay(), 2, {"does not compile for cpu", "rms.c:13:", "epsilon"});
  save(replaced(kRmsNorm, ", int64_t begin, int64_t end", ", int64_t end"));
  expect_failure(replay(), 2, {"parameters of a kernel do not match", "int64_t begin"});
  save(replaced(kRmsNorm, "void rms_norm", "void norm"));
  expect_failure(replay(), 2, {"has no kernel rms_norm", "rms.c:1"});
  save(replaced(kRmsNorm, "sqrtf", "no_such_function"));
  expect_failure(replay(), 2, {"does not compile for cpu", "no_such_function"});
  save(replaced(kRmsNorm, "(192,), bf16", "(192,), f16"));
  expect_failure(replay(), 2, {"signature", "rms.c:1", "(192,), bf16", "(192,), f16"});
  save(kRmsNorm);
  write_bytes(folder_ / "again.c", kRmsNorm);
  expect_failure(replay(), 2, {"two sources fit kernel", "again.c", "rms.c"});
}

TEST_F(CustomKernelProgram, ASourceForNoKernelIsAWarning) {
  save(replaced(kRmsNorm, "def rms_norm", "def rsm_norm"));
  ProgramResult result = run_program(replay());
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.err.find("no kernel is called rsm_norm"), std::string::npos) << result.all();
  EXPECT_NE(result.err.find("did you mean 'rms_norm_"), std::string::npos) << result.all();
}

TEST_F(CustomKernelProgram, WithoutCcThePlatformIsAbsent) {
  save(kRmsNorm);
  expect_failure(replay(), 4, {"cannot start", "no-such-cc"},
                 {.environment = {{"CC", "no-such-cc"}}});
}

TEST_F(CustomKernelProgram, SkeletonCompilesAndIsRight) {
  const std::string file = folder_ / "rms.c";
  ProgramResult result = run_program(
      {"kernel", "skeleton", demo_suite(), "rms_norm_4852", "--target", "cpu", "-o", file});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  result = run_program(replay({"--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_NE(json.find("custom_kernels")->find(kKernel), nullptr);
  expect_failure({"kernel", "skeleton", demo_suite(), "rms_norm", "--target", "cpu"}, 2,
                 {"several kernels", kKernel});
  expect_failure({"kernel", "skeleton", demo_suite(), "nope", "--target", "cpu"}, 2, {"no such"});
  expect_failure({"kernel", "skeleton", demo_suite(), kKernel, "--target", "null"}, 2,
                 {"does not support custom kernels"});
}

TEST_F(CustomKernelProgram, ASkeletonNeedsNoWeights) {
  const std::string model = folder_ / "model", suite = folder_ / "suite";
  std::filesystem::create_directory(model);
  testing::copy_demo_model(model);
  ProgramResult result = run_program({"carve", model, "--prompt", "Emma was", "--max-tokens", "1",
                                      "--weights", "reference", "-o", suite});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  std::filesystem::remove_all(model);
  result = run_program({"kernel", "skeleton", suite, kKernel, "--target", "cpu"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.out.find("launch rms_norm_485247dc"), std::string::npos) << result.out;
}

TEST_F(CustomKernelProgram, WatchComparesEverySavedVersion) {
  save(kRmsNorm);
  std::thread author([&] {
    // At most one version per second: the next follows once the line of the previous one is
    // printed.
    auto wait = [&](const std::string& text) {
      for (int i = 0; i < 2400; ++i) {
        if (testing::read_bytes(folder_ / "said").find(text) != std::string::npos) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
      }
      ADD_FAILURE() << "never said " << text;
    };
    wait(": pass");
    save(replaced(kRmsNorm, "sum / 192", "sum / 191"));
    wait(": mismatch");
    save(replaced(kRmsNorm, "1e-5f", "epsilon"));
    wait("does not compile");
    save(replaced(kRmsNorm, "float* out = buffers[2];", "float* out = (float*)16;"));
  });
  // The helper redirects standard output to its own file; the shell redirects it to a known one.
  const std::string program = TAPML_PROGRAM;
  std::string command = "exec " + program;
  for (const std::string& word : replay({"--watch"})) command += " '" + word + "'";
  command += " > '" + (folder_ / "said") + "' 2> '" + (folder_ / "err") + "'";
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  author.join();
  for (int i = 0; i < 2400; ++i) {
    if (testing::read_bytes(folder_ / "said").find(": crash") != std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130) << testing::read_bytes(folder_ / "err");
  const std::string said = testing::read_bytes(folder_ / "said");
  EXPECT_NE(said.find(": crash"), std::string::npos) << said;
}

TEST_F(CustomKernelProgram, WatchWantsAKernelAndAFolder) {
  EXPECT_EQ(run_program({"replay", demo_suite(), "--watch"}).exit_code, 2);
  EXPECT_EQ(run_program({"replay", demo_suite(), "--watch", "--kernel", kKernel}).exit_code, 2);
}

}  // namespace
}  // namespace tapml
