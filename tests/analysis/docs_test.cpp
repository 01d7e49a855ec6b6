// The examples of the pages about the text format satisfy every invariant.
#include <gtest/gtest.h>

#include <fstream>

#include "analysis/verifier.h"
#include "text/parser.h"

namespace tapml::analysis {
namespace {

// Returns the number of examples.
int verify_examples(const std::string& page) {
  std::ifstream file(std::string(TAPML_SOURCE_DIR) + "/docs/" + page);
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
  return examples;
}

TEST(TextFormatPage, ExamplesSatisfyEveryInvariant) {
  EXPECT_EQ(verify_examples("text-format.md"), 3);
  EXPECT_EQ(verify_examples("matrix-units.md"), 1);
}

}  // namespace
}  // namespace tapml::analysis
