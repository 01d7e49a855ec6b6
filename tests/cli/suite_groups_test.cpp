// Groups of kernels: how `tapml replay` and `tapml suite` handle a stored suite with a group.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "io/json.h"
#include "ir/exceptions.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::read_bytes;
using testing::run_program;
using testing::TempFolder;
using testing::write_bytes;

constexpr const char* kGroupKernels = "softmax_ab2d711a + matmul_e629c9b9";

class SuiteGroups : public ::testing::Test {
 protected:
  Json json(std::vector<std::string> args, int code = 0) {
    args.emplace_back("--json");
    ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, code) << result.all();
    return result.json();
  }
  static int64_t number(const Json& json, const char* key) { return json.find(key)->as_integer(); }
  static std::string text(const Json& json, const char* key) { return json.find(key)->as_string(); }

  // The suite with a second kernel whose loops, which targets run, disagree with its graph.
  std::string with_wrong_loops() const {
    const std::string suite = folder_ / "wrong";
    std::filesystem::copy(suite_, suite, std::filesystem::copy_options::recursive);
    const Json document = unwrap(parse_json(read_bytes(suite + "/suite.json"), "suite.json"));
    const std::string spec = document.find("kernels")->items()[1].find("spec")->as_string();
    testing::replace_in(suite + "/suite.json", "a[vi, vr]*b[vr, vj]", "a[vi, vr]-b[vr, vj]");
    std::string wrong = spec;
    wrong.replace(wrong.find("a[vi, vr]*"), 10, "a[vi, vr]-");
    testing::replace_in(suite + "/suite.json", to_hex(sha256(spec)), to_hex(sha256(wrong)));
    return suite;
  }

  const std::string suite_ = TAPML_SOURCE_DIR "/tests/golden/suites/groups";
  TempFolder folder_;
};

TEST_F(SuiteGroups, AreReplayedInTheirOwnRows) {
  for (const char* target : {"cpu", "opencl"}) {
    const Json replayed = json({"replay", suite_, "--target", target});
    EXPECT_EQ(replayed.find("kernels")->items().size(), 1u) << "the other kernel is in the group";
    ASSERT_EQ(replayed.find("groups")->items().size(), 1u);
    const Json& group = replayed.find("groups")->items()[0];
    EXPECT_EQ(number(group, "group"), 0);
    EXPECT_EQ(text(group, "kernel"), kGroupKernels);
    EXPECT_EQ(text(group, "trusted"), "numpy");
    EXPECT_TRUE(group.find("passed")->as_bool());
    EXPECT_EQ(number(group, "elements"), 12);
    EXPECT_EQ(group.find("inputs")->items()[0].as_string(), "input of softmax");
    EXPECT_EQ(group.find("outputs")->items()[0].as_string(), "output of linear");
  }
  const ProgramResult table = run_program({"replay", suite_});
  EXPECT_NE(table.out.find("\ngroup 0 "), std::string::npos) << table.all();
  EXPECT_NE(table.out.find(std::string("  ") + kGroupKernels +
                           ": input of softmax -> output of linear of numpy"),
            std::string::npos)
      << table.all();
  EXPECT_EQ(table.out.find("untested"), std::string::npos) << table.all();
  EXPECT_EQ(table.last_line(), "PASS 1 of 1 kernel, 1 of 1 group, 2 calls");
  const Json one = json({"replay", suite_, "--group", "0"});
  EXPECT_TRUE(one.find("kernels")->items().empty());
  EXPECT_EQ(one.find("groups")->items().size(), 1u);
  const Json kernel = json({"replay", suite_, "--kernel", "softmax_ab2d711a"});
  EXPECT_EQ(kernel.find("kernels")->items().size(), 1u);
  EXPECT_TRUE(kernel.find("groups")->items().empty());
}

TEST_F(SuiteGroups, AWrongKernelOfAGroupFailsTheReplay) {
  const std::string suite = with_wrong_loops();
  const Json replayed = json({"replay", suite, "--report", folder_ / "report", "--junit",
                              folder_ / "junit.xml", "--markdown", folder_ / "summary.md"},
                             1);
  EXPECT_FALSE(replayed.find("passed")->as_bool());
  EXPECT_TRUE(replayed.find("kernels")->items()[0].find("passed")->as_bool());
  const Json& group = replayed.find("groups")->items()[0];
  EXPECT_FALSE(group.find("passed")->as_bool());
  EXPECT_FALSE(group.find("source_wrong")->as_bool());
  EXPECT_NE(group.find("difference"), nullptr);
  const std::string junit = read_bytes(folder_ / "junit.xml");
  EXPECT_NE(junit.find("tests=\"2\" failures=\"1\""), std::string::npos) << junit;
  EXPECT_NE(junit.find(std::string("name=\"group 0: ") + kGroupKernels), std::string::npos)
      << junit;
  EXPECT_NE(read_bytes(folder_ / "summary.md").find("1 of 1 kernel and 1 group is wrong on cpu"),
            std::string::npos);
  const std::string page = read_bytes(folder_ / "report/report.html");
  EXPECT_NE(page.find(std::string("group 0: ") + kGroupKernels), std::string::npos);
  EXPECT_NE(page.find("--group 0"), std::string::npos) << "the command that shows it again";
  EXPECT_NE(page.find("input of softmax"), std::string::npos);
}

TEST_F(SuiteGroups, AreListedAndShown) {
  const Json listed = json({"suite", "ls", suite_});
  ASSERT_EQ(listed.find("groups")->items().size(), 1u);
  const Json& row = listed.find("groups")->items()[0];
  EXPECT_EQ(row.find("kernels")->items().size(), 2u);
  EXPECT_EQ(text(row, "source"), "numpy");
  EXPECT_EQ(text(row, "carved_on"), "cpu");
  EXPECT_EQ(number(row, "calls"), 2);
  EXPECT_GT(number(row, "bytes"), 0);
  const Json shown = json({"suite", "show", suite_, "matmul_e629c9b9"});
  EXPECT_TRUE(shown.find("calls")->items().empty());
  ASSERT_EQ(shown.find("groups")->items().size(), 1u);
  const Json& calls = *shown.find("groups")->items()[0].find("kernel_calls");
  ASSERT_EQ(calls.items().size(), 1u);
  const Json& link = calls.items()[0].find("links")->items()[0];
  EXPECT_EQ(text(link, "parameter"), "a");
  EXPECT_EQ(text(link, "from_kernel"), "softmax_ab2d711a");
  ASSERT_EQ(calls.items()[0].find("tensors")->items().size(), 2u);
  EXPECT_EQ(text(calls.items()[0].find("tensors")->items()[1], "name"), "output of linear");
  const ProgramResult people = run_program({"suite", "show", suite_, "matmul_e629c9b9"});
  EXPECT_NE(people.out.find("of out of call 0 (softmax_ab2d711a)"), std::string::npos)
      << people.all();
}

TEST_F(SuiteGroups, AreMergedPrunedExportedAndVerified) {
  EXPECT_EQ(number(json({"suite", "verify", suite_}), "groups"), 1);
  const Json merged = json({"suite", "merge", suite_, suite_, "-o", folder_ / "both"});
  EXPECT_EQ(number(merged, "groups"), 1);
  EXPECT_EQ(number(json({"suite", "ls", folder_ / "both"}).find("groups")->items()[0], "times"), 2);
  const Json pruned = json(
      {"suite", "prune", folder_ / "both", "--kernel", "matmul_e629c9b9", "-o", folder_ / "one"});
  EXPECT_EQ(number(pruned, "calls"), 0);
  EXPECT_EQ(number(pruned, "groups"), 1);
  EXPECT_EQ(number(pruned, "kernels"), 2);
  EXPECT_EQ(testing::names_under(folder_ / "one/tensors").size(), 3u);
  EXPECT_EQ(run_program({"replay", folder_ / "one"}).exit_code, 0);
  const Json exported = json(
      {"suite", "export", suite_, "--npz", "--kernel", "matmul_e629c9b9", "-o", folder_ / "npz"});
  ASSERT_EQ(exported.find("files")->items().size(), 1u);
  const std::string archive = read_bytes(folder_ / "npz/group.0.npz");
  for (const char* entry :
       {"before.1.b.npy", "scalars.0.npy", "input.0.x.npy", "output.1.out.npy", "links.npy"}) {
    EXPECT_NE(archive.find(entry), std::string::npos) << entry;
  }
}

TEST_F(SuiteGroups, AnAlteredGroupTensorIsNamed) {
  const std::string suite = folder_ / "altered";
  std::filesystem::copy(suite_, suite, std::filesystem::copy_options::recursive);
  const Json listed = json({"suite", "show", suite, "matmul_e629c9b9"});
  const Json& output = listed.find("groups")
                           ->items()[0]
                           .find("kernel_calls")
                           ->items()[0]
                           .find("tensors")
                           ->items()[1];
  const std::string file = suite + "/tensors/" + text(output, "hash") + ".safetensors";
  std::string bytes = read_bytes(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(file, bytes);
  const ProgramResult verified = run_program({"suite", "verify", suite});
  EXPECT_EQ(verified.exit_code, 1) << verified.all();
  EXPECT_NE(verified.out.find("altered"), std::string::npos) << verified.all();
  EXPECT_NE(verified.out.find(text(output, "hash")), std::string::npos) << verified.all();
  EXPECT_TRUE(verified.last_line().starts_with("FAIL 2 kernels, 1 call, 1 group, "))
      << verified.all();
}

}  // namespace
}  // namespace tapml
