// The example of docs/memory.md behaves as the page states.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "passes/legalize.h"
#include "passes/memory/report.h"
#include "passes/plan_memory.h"
#include "text/parser.h"

namespace tapml::passes {
namespace {

std::string example() {
  std::ifstream file(std::string(TAPML_SOURCE_DIR) + "/docs/memory.md");
  std::string text, line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line == "```") inside = false;
    if (inside) text += line + "\n";
    if (line == "```tapml") inside = true;
  }
  return text;
}

// Storages of the function that do not hold its result.
std::vector<PlannedStorage> storages(const PlanMemoryOptions& options) {
  Module planned = plan_memory_with(legalize(text::parse(example(), "docs/memory.md")), options);
  std::vector<PlannedStorage> found;
  const MemoryReport report = memory_report(planned);
  for (const PlannedStorage& storage : report.functions.at(0).storages) {
    bool result = storage.tensors.back().name == "y";
    if (!result) found.push_back(storage);
  }
  return found;
}

TEST(MemoryPage, FourIntermediatesUseTwoStorages) {
  EXPECT_EQ(storages({.bounds = {}, .reuse = false}).size(), 4u);
  std::vector<PlannedStorage> shared = storages({.bounds = {}, .reuse = true, .in_place = false});
  // y reuses the storage of d, which is large enough after it has grown.
  ASSERT_GE(shared.size(), 1u);
  EXPECT_LE(shared.size(), 2u);
}

TEST(MemoryPage, BoundsGiveChunksOf32And48Bytes) {
  std::vector<PlannedStorage> fixed =
      storages({.bounds = {{"n", 4}}, .reuse = true, .in_place = false});
  ASSERT_EQ(fixed.size(), 2u);
  std::vector<int64_t> bytes;
  for (const PlannedStorage& storage : fixed) {
    EXPECT_TRUE(storage.is_static);
    ASSERT_TRUE(storage.bytes.is_int());
    bytes.push_back(storage.bytes->int_value);
  }
  std::sort(bytes.begin(), bytes.end());
  EXPECT_EQ(bytes, (std::vector<int64_t>{32, 48}));
}

TEST(MemoryPage, InPlaceKernelsNeedLess) {
  Module planned = plan_memory(legalize(text::parse(example(), "docs/memory.md")));
  EXPECT_EQ(memory_report(planned).functions.at(0).storages.size(), 2u);
}

}  // namespace
}  // namespace tapml::passes
