// The tensor programs of the architectures are proved to stay in bounds: models run in the user's
// process.
#include <gtest/gtest.h>

#include "analysis/access_bounds.h"
#include "models/table.h"
#include "tir/prim_func.h"

namespace tapml::models {
namespace {

TEST(Programs, OfEveryArchitectureAreProved) {
  LlamaConfig config;
  config.vocabulary = 11;
  config.hidden = 12;
  config.layers = 1;
  config.heads = 3;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.context = 40;
  config.intermediate = 20;
  Qwen2MoeConfig experts;
  static_cast<DecoderConfig&>(experts) = config;
  experts.intermediate = 20;
  experts.experts = 4;
  experts.experts_per_token = 2;
  experts.expert_intermediate = 6;
  experts.shared_intermediate = 10;
  for (const Architecture& architecture : architecture_table()) {
    SCOPED_TRACE(architecture.name);
    const ModelConfig given =
        std::string(architecture.name) == "qwen2_moe" ? ModelConfig(experts) : ModelConfig(config);
    const Module module = architecture.build(given, {});
    int programs = 0;
    for (const auto& [name, function] : module.functions) {
      const tir::PrimFunc* program = tir::as_prim_func(function.get());
      if (!program) continue;
      ++programs;
      for (const analysis::UnprovedAccess& one : analysis::unproved_accesses(*program)) {
        ADD_FAILURE() << name << ": " << one.access << ", index " << one.index;
      }
    }
    EXPECT_GT(programs, 0);
  }
}

}  // namespace
}  // namespace tapml::models
