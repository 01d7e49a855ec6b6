// A bounded campaign on every platform of this machine: programs with fixed seeds, then fresh ones.
//
// TAPML_CAMPAIGN_TESTS=n programs with fixed seeds (150), then fresh ones for
// TAPML_CAMPAIGN_SECONDS (3).
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "device/cpu/library/host_library.h"
#include "io/host/files.h"
#include "support/program.h"
#include "support/sessions.h"

namespace tapml::testing {
namespace {

std::string setting(const char* variable, const char* fallback) {
  const char* text = std::getenv(variable);
  return text ? text : fallback;
}

std::vector<std::string> available_targets() {
  std::vector<std::string> targets = {"cpu"};
  for (const char* platform : {"opencl", "vulkan", "wasm"}) {
    if (open_session(platform)) targets.emplace_back(platform);
  }
  return targets;
}

// The campaign's document; a failure for each finding, with its reduced program.
Json run_campaign(const std::string& seed, const std::string& seconds, const std::string& tests) {
  const TempFolder folder;
  std::vector<std::string> command = {
      "fuzz",       "run", "--seed",   seed,       "--for",          seconds,
      "--tests",    tests, "--native", "1",        "--others",       "0.17",
      "--variants", "1",   "--json",   "--corpus", folder / "corpus"};
  for (const std::string& target : available_targets()) {
    command.insert(command.end(), {"--target", target});
  }
  const ProgramResult result = run_program(command, {.timeout = 7200});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  if (result.exit_code != 0 && result.exit_code != 1) return Json::object();
  Json document = result.json();
  for (const Json& finding : document.find("findings")->items()) {
    const std::string& path = finding.find("folder")->as_string();
    ADD_FAILURE() << read_text_file(path + "/reduced/program.txt").value_or("")
                  << read_text_file(path + "/finding.json").value_or("");
  }
  return document;
}

TEST(Campaign, FindsNothing) {
  const std::string tests = setting("TAPML_CAMPAIGN_TESTS", "150");
  const Json document = run_campaign("7", "1h", tests);
  ASSERT_NE(document.find("tests"), nullptr);
  const int64_t count = document.find("tests")->as_integer();
  EXPECT_GE(count, std::stoll(tests));
  EXPECT_EQ(document.find("valid")->as_integer(), count);
  // Otherwise the programs test too little.
  std::vector<std::string> expected = {"cut out by a pattern",
                                       "static storages",
                                       "above",
                                       "memory",
                                       "shuffled",
                                       "static shapes",
                                       "without all",
                                       "without fuse_ops",
                                       "reloaded",
                                       "routines",
                                       "library:fuzz",
                                       "if",
                                       "loop",
                                       "closure"};
  for (const std::string& target : available_targets()) expected.push_back("on " + target);
  for (const std::string& name : device::built_in_libraries()) {
    if (device::is_library_installed(name)) expected.push_back("library:" + name);
  }
  for (const std::string& feature : expected) {
    EXPECT_NE(document.find("features")->find(feature), nullptr) << "no program has: " << feature;
  }
  EXPECT_LT(document.find("open_elements")->as_integer(),
            document.find("elements")->as_integer() / 10);
}

TEST(Campaign, FindsNothingInFreshPrograms) {
  const std::string seed = std::to_string(std::random_device()());
  printf("fresh seed %s\n", seed.c_str());
  run_campaign(seed, setting("TAPML_CAMPAIGN_SECONDS", "3") + "s", "0");
}

}  // namespace
}  // namespace tapml::testing
