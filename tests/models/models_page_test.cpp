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
  size_t at = 0, rows = 0;
  for (size_t row = page.find("\n| `"); row != std::string::npos;
       row = page.find("\n| `", row + 1)) {
    rows += page.compare(row, 15, "\n| `model_type`") != 0;
    at = row;
  }
  EXPECT_GT(at, 0u);
  EXPECT_EQ(rows - 2, architecture_table().size()) << "and two rows of fields that are refused";
  for (const Architecture& one : architecture_table()) {
    const std::string row =
        std::string("\n| `") + one.name + "` | `" + one.class_name + "` | " + one.doc + " | ";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace tapml::models
