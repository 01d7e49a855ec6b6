// tapml models: a row for every architecture of the table.
#include <gtest/gtest.h>

#include <set>

#include "models/table.h"
#include "models/wrappers.h"
#include "support/program.h"

namespace tapml {
namespace {

TEST(Models, ListsEveryArchitecture) {
  const testing::ProgramResult json = testing::run_program({"models", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.all();
  const Json document = json.json();
  const auto& list = document.find("architectures")->items();
  const auto table = models::architecture_table();
  ASSERT_EQ(list.size(), table.size());
  const testing::ProgramResult wide = testing::run_program({"models"}, {{{"COLUMNS", "200"}}});
  EXPECT_TRUE(wide.out.starts_with("model_type")) << wide.out;
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(list[i].find("model_type")->as_string(), table[i].name);
    EXPECT_EQ(list[i].find("class")->as_string(), table[i].class_name);
    EXPECT_EQ(list[i].find("base_class")->as_string(), table[i].base_class);
    EXPECT_EQ(list[i].find("description")->as_string(), table[i].doc);
    const std::string kind = table[i].read_encoder ? "encoder" : "decoder";
    EXPECT_EQ(list[i].find("kind")->as_string(), kind);
    // One line has all of them.
    const size_t at = wide.out.find("\n" + std::string(table[i].name) + " ");
    ASSERT_NE(at, std::string::npos) << wide.out;
    const std::string line = wide.out.substr(at + 1, wide.out.find('\n', at + 1) - at - 1);
    EXPECT_NE(line.find(table[i].class_name), std::string::npos) << line;
    const bool reads_sound = table[i].reads_sound;
    const std::string inputs = reads_sound ? "text, sound " : "text ";
    EXPECT_NE(line.find("  " + kind + "  " + inputs), std::string::npos) << line;
    EXPECT_EQ(list[i].find("inputs")->items().size(), reads_sound ? 2U : 1U);
    EXPECT_EQ(reads_sound, table[i].name == std::string_view("whisper"));
    EXPECT_TRUE(line.ends_with(table[i].doc)) << line;
  }
}

TEST(Models, SaysWhichReadImages) {
  const testing::ProgramResult json = testing::run_program({"models", "--json"});
  const Json document = json.json();
  const auto& list = document.find("wrappers")->items();
  ASSERT_EQ(list.size(), models::wrapper_table().size());
  for (const Json& one : list) {
    const std::string& name = one.find("model_type")->as_string();
    const std::set<std::string> reading = {"llava", "smolvlm", "idefics3", "gemma3", "qwen3_vl"};
    const bool reads = reading.contains(name);
    EXPECT_EQ(one.find("inputs")->items().size(), reads ? 2U : 1U) << name;
  }
}

// The pages for readers name as many as the program has.
TEST(Models, IsCountedInThePages) {
  int64_t encoders = 0;
  const auto table = models::architecture_table();
  for (const auto& row : table) encoders += row.read_encoder != nullptr;
  const std::string decoders = std::to_string(std::ssize(table) - encoders);
  auto page = [](const char* name) {
    return testing::read_bytes(std::string(TAPML_SOURCE_DIR) + "/" + name);
  };
  EXPECT_NE(
      page("README.md")
          .find("language models of " + decoders +
                " [architectures](docs/models.md) and encoders of " + std::to_string(encoders)),
      std::string::npos);
  EXPECT_NE(page("docs/roadmap.md").find("**Models**: " + decoders + " [architectures](models.md)"),
            std::string::npos);
  const std::string list = page("docs/models.md");
  for (const auto& row : table) {
    EXPECT_NE(list.find("\n| `" + std::string(row.name) + "` | `" + row.class_name + "`"),
              std::string::npos)
        << row.name;
  }
}

TEST(Models, TakesNoArgument) { testing::expect_failure({"models", "llama"}, 2, {"llama"}); }

}  // namespace
}  // namespace tapml
