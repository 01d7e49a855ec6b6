// Planted bugs: where they go, and that they stay inside their buffers.
#include "topdown/kernels/plant.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "interp/interpreter.h"
#include "passes/kernel.h"
#include "schedule/rules.h"
#include "support/expect_error.h"
#include "text/printer.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

TEST(Plant, ParsesKernelAndKind) {
  for (const auto& [kind, name] : plant_kinds()) {
    auto [kernel, parsed] = parse_plant(std::string("matmul_12345678:") + name);
    EXPECT_EQ(kernel, "matmul_12345678");
    EXPECT_EQ(parsed, kind);
    EXPECT_STREQ(plant_kind_name(kind), name);
  }
  EXPECT_EQ(plant_kinds().size(), 8u);
  for (const char* text : {"", "matmul", "matmul:", "matmul:Off-By-One", "off-by-one"}) {
    testing::expect_user_error([&] { parse_plant(text); }, {"KERNEL:KIND", "off-by-one"});
  }
}

// Every variant of every kernel of a small model on a target: another program of the same signature
// that the interpreter, which checks every index, runs to its end on carved inputs (all but those
// whose purpose is not to end well).
TEST(Plant, VariantsDifferAndStayInsideTheirBuffers) {
  const Suite suite = carved();
  Judge judge(suite);
  const target::Target target = target::parse_target("opencl");
  std::map<PlantKind, int> places;
  for (size_t k = 0; k < suite.kernels.size(); ++k) {
    const SuiteKernel& kernel = suite.kernels[k];
    auto call = std::find_if(suite.calls.begin(), suite.calls.end(), [&](const SuiteCall& one) {
      return one.kernel == static_cast<int32_t>(k);
    });
    const auto scheduled =
        schedule::schedule_for(passes::kernel_implementation(judge.module(), kernel.name), target)
            .func;
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      bool fresh = kernel.modes[i] == AccessMode::kOut;
      inputs.push_back(suite.tensors.at(fresh ? call->after[i] : call->before[i]));
    }
    std::set<std::string> seen = {text::print(*scheduled, "kernel")};
    for (const auto& [kind, kind_name] : plant_kinds()) {
      for (const tir::PrimFuncRef& variant : plant_variants(*scheduled, kind)) {
        SCOPED_TRACE(kernel.name + " " + kind_name);
        ++places[kind];
        EXPECT_TRUE(seen.insert(text::print(*variant, "kernel")).second);
        ASSERT_EQ(variant->params.size(), scheduled->params.size());
        if (ends_process(kind)) continue;
        std::vector<HostTensor> params;
        for (const HostTensor& input : inputs) {
          params.push_back(HostTensor::zeros(input.dtype(), input.shape()));
          std::copy(input.bytes().begin(), input.bytes().end(),
                    params.back().mutable_bytes().begin());
        }
        EXPECT_NO_THROW(interp::run_prim_func(*variant, params, call->scalars));
      }
    }
  }
  for (const auto& [kind, name] : plant_kinds()) EXPECT_GT(places[kind], 0) << name;
}

}  // namespace
}  // namespace tapml::topdown
