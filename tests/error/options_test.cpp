// Invalid prompts, targets, folders and faults.
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

TEST(BadPrompt, EmptyOrTooLong) {
  std::string words;
  for (int i = 0; i < 600; ++i) words += "and ";
  for (const std::string command : {"run", "migrate", "carve"}) {
    TempFolder folder;
    auto args = [&](const std::string& prompt) {
      std::vector<std::string> list = {command, kDemoModel, "--prompt", prompt};
      if (command == "carve") list.insert(list.end(), {"-o", folder / "suite"});
      return list;
    };
    expect_failure(args(""), 2, {"the prompt is empty", "--prompt"});
    expect_failure(args(words), 2, {"too long", "--prompt", "fewer than 512 tokens", " tokens"});
    EXPECT_EQ(testing::names_under(folder.path()), std::set<std::string>{});
  }
}

TEST(BadPrompt, InvalidUtf8StillRuns) {
  ProgramResult result =
      run_program({"run", kDemoModel, "--prompt", "\xff\xfe", "--max-tokens", "2", "--json"});
  // Both are acceptable: bytes as their own tokens, or a refusal; never a crash.
  EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << result.all();
  result.json();
}

TEST(BadTarget, UnknownMalformedOrRemote) {
  auto run = [](const std::string& target, int code, const std::vector<std::string>& parts) {
    SCOPED_TRACE(target);
    expect_failure({"run", kDemoModel, "--prompt", "x", "--target", target}, code, parts);
  };
  run("abacus", 2, {"abacus", "one of", "cpu", "opencl", "tapml devices"});
  run("", 2, {"target"});
  run("cpu:threads=0", 2, {"threads", "0"});
  run("cpu:threads=lots", 2, {"threads", "lots"});
  run("cpu:sockets=2", 2, {"sockets", "threads"});
  run("cpu:threads", 2, {"threads", "value"});
  run("opencl:device=99", 4, {"99"});
  run("cpu@elsewhere:9000", 4, {"elsewhere"});
  expect_failure({"migrate", kDemoModel, "--prompt", "x", "--to", "abacus"}, 2, {"abacus"});
  expect_failure({"compile", kDemoModel, "--target", "abacus"}, 2, {"abacus"});
}

TEST(BadTarget, Unavailable) {
  TempFolder none;
  ProgramOptions options{.environment = {{"OCL_ICD_VENDORS", none / "nonexistent"}}};
  expect_failure({"run", kDemoModel, "--prompt", "x", "--target", "opencl"}, 4,
                 {"OpenCL", "install"}, options);
  expect_failure({"migrate", kDemoModel, "--prompt", "x", "--to", "opencl"}, 4, {"OpenCL"},
                 options);
  // A trusted platform that computes nothing is noticed as well.
  ProgramResult result = run_program({"migrate", kDemoModel, "--prompt", "x", "--from", "cpu",
                                      "--to", "null", "--max-tokens", "2", "--json"});
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_FALSE(testing::strings(result.json().find("culprits")).empty());
}

TEST(BadSampler, Options) {
  auto run = [](const std::string& option, const std::string& value) {
    SCOPED_TRACE(option + " " + value);
    expect_failure({"run", kDemoModel, "--prompt", "x", option + "=" + value}, 2, {value});
  };
  run("--temperature", "-1");
  run("--temperature", "nan");
  run("--temperature", "warm");
  run("--top-p", "0");
  run("--top-p", "1.5");
  run("--top-k", "-1");
  run("--top-k", "1.5");
  run("--max-tokens", "-3");
  run("--seed", "x");
  run("--seed", "-1");
  run("--seed", "18446744073709551616");
}

// Folders that cannot be written. Root can write every folder, so a file blocks the path.
TEST(BadFolder, LeavesNoPartialFiles) {
  TempFolder folder;
  testing::write_bytes(folder / "file", "here");
  const std::string inside = folder / "file/inside";
  expect_failure({"run", kDemoModel, "--prompt", "x", "--max-tokens", "1", "--dump-logits", inside},
                 2, {"file"});
  expect_failure({"carve", kDemoModel, "--prompt", "x", "--max-tokens", "1", "-o", inside}, 2,
                 {"file"});
  expect_failure({"migrate", kDemoModel, "--prompt", "x", "--report", inside}, 2, {"file"});
  expect_failure({"compile", "--config", kDemoModel + "/config.json", "--dump-ir", inside}, 2,
                 {"file"});
  EXPECT_EQ(testing::names_under(folder.path()), std::set<std::string>{"file"});
  EXPECT_EQ(testing::read_bytes(folder / "file"), "here");
}

// Contradictory options are reported before the model is looked up.
TEST(ContradictoryOptions, AreRefusedBeforeAnyWork) {
  TempFolder folder;
  testing::write_bytes(folder / "file", "here");
  testing::write_bytes(folder / "tasks.jsonl", "{\"kind\": \"perplexity\", \"text\": \"a b\"}\n");
  const std::string none = folder / "no model", inside = folder / "file/inside",
                    one = folder / "one.xml", prompt = "--prompt";
  auto refused = [&](const std::vector<std::string>& args, const std::vector<std::string>& parts) {
    SCOPED_TRACE(args[0] + " " + args.back());
    expect_failure(args, 2, parts);
    const testing::ProgramResult result = testing::run_program(args);
    EXPECT_EQ(result.err.find("no model"), std::string::npos) << result.all();
    EXPECT_EQ(testing::read_bytes(folder / "file"), "here");
  };
  for (const std::string command : {"migrate", "localize"}) {
    refused({command, none, prompt, "x", "--report", inside}, {"file"});
    refused({command, none, prompt, "x", "--junit", one, "--markdown", one},
            {"--junit and --markdown", "a file for each"});
    refused({command, none, prompt, "x", "--in-process", "--kernel-timeout", "5"},
            {"--kernel-timeout", "--in-process"});
  }
  refused({"migrate", none, prompt, "x", "--state", inside}, {"file"});
  refused({"migrate", none, prompt, "x", "--trace", one, "--kernel-timeout", "5"},
          {"--trace", "--kernel-timeout"});
  refused({"migrate", none, prompt, "x", "--stop-at-first", "--keep-going"},
          {"--stop-at-first", "--keep-going"});
  for (const std::string option : {"--temperature", "--top-k", "--top-p", "--seed"}) {
    refused({"localize", none, prompt, "x", "--bisect", "passes", option, "1"},
            {option, "none with --bisect passes"});
  }
  refused({"carve", none, prompt, "x", "-o", inside}, {"file"});
  refused({"carve", none, prompt, "x", "-o", folder / "s", "--decode", "1", "--max-tokens", "1"},
          {"--decode", "--max-tokens"});
  refused(
      {"eval", none, "--tasks", folder / "tasks.jsonl", "--target", "cpu", "--reference", "cpu"},
      {"--reference", "agrees with itself", "another --target"});
  refused({"replay", none, "--watch", "--kernel", "k", "--custom-kernels", ".", "--junit", one},
          {"--watch excludes --j"});  // --junit, or the --json of this test: either may be named
}

// A fault in a kernel that is not run would show nothing, and the replay would pass.
TEST(ContradictoryOptions, AFaultIsForAKernelThatIsRun) {
  const std::string suite = TAPML_SOURCE_DIR "/tests/golden/suites/calls";
  const Json kernels =
      *testing::run_program({"suite", "ls", suite, "--json"}).json().find("kernels");
  ASSERT_GE(kernels.items().size(), 2u);
  const std::string run = kernels.items()[0].find("kernel")->as_string();
  const std::string other = kernels.items()[1].find("kernel")->as_string();
  expect_failure({"replay", suite, "--kernel", run, "--inject-fault", other + ":dropped-tail"}, 2,
                 {"--inject-fault", other, "one of " + run, "leave --kernel out"});
}

TEST(BadFault, UnknownKindOrKernel) {
  auto migrate = [](const std::string& fault, const std::vector<std::string>& parts) {
    SCOPED_TRACE(fault);
    expect_failure(
        {"migrate", kDemoModel, "--prompt", "x", "--max-tokens", "1", "--inject-fault", fault}, 2,
        parts);
  };
  migrate("matmul:gremlin", {"gremlin", "off-by-one", "missing-init", "--inject-fault"});
  migrate("matmul", {"KERNEL:KIND", "off-by-one"});
  migrate(":", {"KERNEL:KIND"});
  migrate("frobnicate_00000000:off-by-one", {"frobnicate_00000000", "rms_norm_"});
  migrate("vulkan/rms_norm:off-by-one", {"\"vulkan\"", "TARGET/KERNEL:KIND", "opencl"});
}

TEST(BadTargets, OneTwice) {
  expect_failure(
      {"migrate", kDemoModel, "--prompt", "x", "--to", "cpu", "--to", "opencl", "--to", "cpu"}, 2,
      {"a target is given twice", "--to", "cpu"});
  // Each --to takes one target: the next word is not a target.
  expect_failure({"migrate", "--to", "cpu", "/nonexistent/model", "--prompt", "x"}, 2,
                 {"/nonexistent/model"});
}

}  // namespace
}  // namespace tapml
