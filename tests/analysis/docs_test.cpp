// The examples of docs/text-format.md satisfy every invariant.
#include <gtest/gtest.h>

#include <fstream>

#include "analysis/verifier.h"
#include "text/parser.h"

namespace tapml::analysis {
namespace {

TEST(TextFormatPage, ExamplesSatisfyEveryInvariant) {
  std::ifstream file(std::string(TAPML_SOURCE_DIR) + "/docs/text-format.md");
  std::string line, text;
  bool inside = false;
  int examples = 0;
  while (std::getline(file, line)) {
    if (line == "```tapml") {
      inside = true;
      text.clear();
    } else if (line == "```" && inside) {
      inside = false;
      ++examples;
      for (const Violation& v : find_violations(text::parse(text, "docs"))) {
        ADD_FAILURE() << v.to_string();
      }
    } else if (inside) {
      text += line + "\n";
    }
  }
  EXPECT_EQ(examples, 3);
}

}  // namespace
}  // namespace tapml::analysis
