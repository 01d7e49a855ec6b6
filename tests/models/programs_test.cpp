// The tensor programs of the architectures are proved to stay in bounds: models run in the user's
// process.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "analysis/access_bounds.h"
#include "frontend/huggingface/model.h"
#include "models/table.h"
#include "support/golden_path.h"
#include "tir/prim_func.h"

namespace tapml::models {
namespace {

TEST(Programs, OfEveryArchitectureAreProved) {
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(testing::golden_path("logits"))) {
    const std::string config = entry.path() / "config.json";
    if (!std::filesystem::exists(config)) continue;
    const frontend::HuggingFaceModel model = frontend::read_config(config);
    if (!seen.insert(model.config.architecture).second) continue;
    SCOPED_TRACE(model.config.architecture);
    int programs = 0;
    for (const auto& [name, function] : model.module.functions) {
      const tir::PrimFunc* program = tir::as_prim_func(function.get());
      if (!program) continue;
      ++programs;
      for (const analysis::UnprovedAccess& one : analysis::unproved_accesses(*program)) {
        ADD_FAILURE() << name << ": " << one.access << ", index " << one.index;
      }
    }
    EXPECT_GT(programs, 0);
  }
  for (const Architecture& architecture : architecture_table()) {
    // Those of encoders, and of models of sound, are in other folders.
    if (architecture.read_encoder || architecture.reads_sound) continue;
    EXPECT_TRUE(seen.contains(architecture.name))
        << "no folder of tests/golden/logits has a configuration of " << architecture.name;
  }
}

}  // namespace
}  // namespace tapml::models
