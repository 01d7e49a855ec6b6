// docs/models.md lists the architectures that there are.
#include <gtest/gtest.h>

#include "io/host/files.h"
#include "ir/exceptions.h"
#include "models/table.h"

namespace tapml::models {
namespace {

TEST(ModelsPage, HasARowForEachArchitecture) {
  const std::string page =
      unwrap(read_text_file(std::string(TAPML_SOURCE_DIR) + "/docs/models.md"));
  // Rows whose first two columns are names: no other table of the page has such.
  size_t rows = 0;
  for (size_t row = page.find("\n| `"); row != std::string::npos;
       row = page.find("\n| `", row + 1)) {
    const size_t end = page.find("` |", row + 4);
    rows += end != std::string::npos && page.compare(end, 5, "` | `") == 0;
  }
  EXPECT_EQ(rows, architecture_table().size());
  for (const Architecture& one : architecture_table()) {
    const std::string row = std::string("\n| `") + one.name + "` | `" + one.class_name + "`" +
                            (one.in_transformers ? "" : " (own)") + " | " + one.doc + " | ";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace tapml::models
