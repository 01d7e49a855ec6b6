// tapml check-import: its command line. tests/python/test_check_import.py has comparisons.
#include <gtest/gtest.h>

#include <fstream>

#include "support/golden_path.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::kDemoModel;

TEST(CheckImport, NeedsOneInput) {
  expect_failure({"check-import"}, 2, {"one input is needed", "neither"});
  expect_failure({"check-import", kDemoModel, "--config", kDemoModel + "/config.json"}, 2,
                 {"one input is needed", "both"});
  expect_failure({"check-import", "/no/model"}, 2, {"/no/model", "does not exist"});
  expect_failure({"check-import", "--config", "/no/config.json"}, 2, {"/no/config.json"});
}

TEST(CheckImport, RefusesOptionsThatHaveNoEffect) {
  expect_failure({"check-import", kDemoModel, "--seed", "3"}, 2,
                 {"--seed", "none without --config"});
  expect_failure({"check-import", "--config", kDemoModel + "/config.json", "--prompt", "a b"}, 2,
                 {"no tokenizer", "\"a b\"", "--tokens"});
  expect_failure({"check-import", kDemoModel, "--prompt", "a", "--tokens", "3"}, 2,
                 {"--prompt", "--tokens"});
  expect_failure({"check-import", kDemoModel, "--tokens", "3,x"}, 2, {"--tokens"});
  expect_failure({"check-import", kDemoModel, "--tokens", "3,-1"}, 2, {"--tokens", "0 to 2047"});
}

TEST(CheckImport, RefusesAnUnwritableReportAndAnAbsentPython) {
  expect_failure({"check-import", kDemoModel, "--junit", "/no/folder/junit.xml"}, 2,
                 {"/no/folder/junit.xml"});
  expect_failure({"check-import", kDemoModel, "--python", "/no/python"}, 2,
                 {"--python", "/no/python", "a Python that imports torch and transformers"});
}

TEST(CheckImport, AnExecutableHasNoImport) {
  testing::TempFolder folder;
  const testing::ProgramResult made = testing::run_program(
      {"compile", kDemoModel, "--target", "null", "-o", folder / "demo.tapml"});
  ASSERT_EQ(made.exit_code, 0) << made.all();
  expect_failure({"check-import", folder / "demo.tapml"}, 2,
                 {"a compiled model has no import to compare", "MODEL"});
}

TEST(CheckImport, AnArchitectureThatTransformersLacks) {
  const std::string config = testing::golden_path("logits/orion/config.json");
  expect_failure({"check-import", "--config", config}, 2,
                 {"transformers has no class of this architecture", "OrionForCausalLM", config,
                  "docs/models.md"});
}

TEST(CheckImport, AnArchitectureThatTheProgramLacks) {
  testing::TempFolder folder;
  testing::copy_demo_model(folder / "model");
  std::string config = testing::read_bytes(folder / "model/config.json");
  for (const std::string name : {"\"llama\"", "LlamaForCausalLM"}) {
    const size_t at = config.find(name);
    ASSERT_NE(at, std::string::npos) << config;
    config.replace(at, name.size(), name == "\"llama\"" ? "\"camel\"" : "CamelForCausalLM");
  }
  std::ofstream(folder / "model/config.json") << config;
  expect_failure({"check-import", folder / "model"}, 2, {"amel", "config.json"});
}

}  // namespace
}  // namespace tapml
