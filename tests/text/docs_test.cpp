// The examples of the pages about the text format.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::text {
namespace {

std::vector<std::string> examples(const std::string& page) {
  std::ifstream file(std::string(TAPML_SOURCE_DIR) + "/docs/" + page);
  std::vector<std::string> found;
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line == "```tapml") {
      inside = true;
      found.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      found.back() += line + "\n";
    }
  }
  return found;
}

TEST(TextFormatPage, ExamplesParseAndPrintBack) {
  std::vector<std::string> texts = examples("text-format.md");
  ASSERT_EQ(texts.size(), 3u);
  texts.push_back(examples("matrix-units.md").at(0));
  for (const std::string& text : texts) {
    Module module = parse(text, "docs/text-format.md");
    Module again = parse(print(module), "printed");
    std::string difference;
    EXPECT_TRUE(structural_equal(module, again, {.origins = true, .difference = &difference}))
        << difference;
    EXPECT_EQ(print(again), print(module));
  }
}

}  // namespace
}  // namespace tapml::text
