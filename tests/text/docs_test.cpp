// The examples of docs/text-format.md.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::text {
namespace {

std::vector<std::string> examples() {
  std::ifstream file(std::string(TAPML_SOURCE_DIR) + "/docs/text-format.md");
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
  std::vector<std::string> texts = examples();
  ASSERT_EQ(texts.size(), 3u);
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
