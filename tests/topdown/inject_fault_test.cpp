// Injected faults: where they are placed, and that they stay in bounds.
#include "topdown/faults/inject_fault.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "interp/interpreter.h"
#include "models/quantization.h"
#include "passes/kernel.h"
#include "schedule/rules.h"
#include "support/expect_error.h"
#include "support/quantized_models.h"
#include "text/printer.h"
#include "tir/visit.h"
#include "topdown/faults/variants/families.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

TEST(Fault, ParsesKernelAndKind) {
  for (const FaultKindInfo& info : fault_kinds()) {
    auto [kernel, parsed] = parse_fault(std::string("matmul_12345678:") + info.name);
    EXPECT_EQ(kernel, "matmul_12345678");
    EXPECT_EQ(parsed, info.kind);
    EXPECT_STREQ(fault_kind_name(info.kind), info.name);
  }
  for (const char* text : {"", "matmul", "matmul:", "matmul:Off-By-One", "off-by-one"}) {
    testing::expect_user_error([&] { parse_fault(text); }, {"KERNEL:KIND", "off-by-one"});
  }
}

// The programs of a suite's kernels, run by the interpreter, which checks every index.
class Programs {
 public:
  Programs(Suite suite, const char* target)
      : suite_(std::move(suite)), reference_(suite_), target_(target::parse_target(target)) {}

  const std::vector<SuiteKernel>& kernels() const { return suite_.kernels; }
  tir::PrimFuncRef scheduled(const std::string& kernel) const {
    return schedule::schedule_for(passes::kernel_implementation(reference_.module(), kernel),
                                  target_)
        .func;
  }
  // All tensors after the kernel's first call.
  std::vector<HostTensor> run(size_t kernel, const tir::PrimFunc& program) const {
    const auto call = std::ranges::find_if(suite_.calls, [&](const SuiteCall& one) {
      return one.kernel == static_cast<int32_t>(kernel);
    });
    std::vector<HostTensor> params;
    for (size_t i = 0; i < suite_.kernels[kernel].params.size(); ++i) {
      const bool fresh = suite_.kernels[kernel].modes[i] == AccessMode::kOut;
      const HostTensor& input = suite_.tensors.at(fresh ? call->after[i] : call->before[i]);
      params.push_back(HostTensor::zeros(input.dtype(), input.shape()));
      if (!fresh) std::ranges::copy(input.bytes(), params.back().mutable_bytes().begin());
    }
    interp::run_prim_func(program, params, call->scalars);
    return params;
  }

 private:
  Suite suite_;
  KernelReference reference_;
  target::Target target_;
};

// A Llama with 4-bit weights, and the calls of one prompt.
Suite quantized_suite() {
  testing::TempFolder folder;
  testing::write_model(folder, testing::kQuantizedLlama);
  const auto model = frontend::read_model(folder.path(), models::Quantization::parse("q4f32"));
  auto session = testing::open_session("cpu");
  const auto executable = pipeline::compile(model.module, target::parse_target("cpu"));
  auto engine = unwrap(llm::Engine::create(*session, executable, model.weights));
  Carver carver(*executable);
  engine->local_vm().call_point().set_observer(&carver);
  unwrap(runtime::download(unwrap(engine->prefill(kPrompt))));
  engine->local_vm().call_point().set_observer(nullptr);
  return carver.take();
}

// No buffer is allocated again inside its own scope.
bool allocates_once(const tir::PrimFunc& func) {
  std::set<const tir::BufferNode*> allocated;
  bool once = true;
  tir::visit(func.body, [&](const tir::Stmt& s) {
    if (s->kind != tir::StmtKind::kAlloc) return;
    once &= allocated.insert(tir::as<tir::AllocNode>(s).buffer.get()).second;
  });
  return once;
}

// Some variants of every kind in every kernel, on targets with few and with many threads: another
// program of the same signature that the interpreter runs to the end on carved inputs (except kinds
// that are meant to fail). Every kind changes some kernel's outputs, except for barriers: the
// interpreter runs threads one after the other up to each.
TEST(Fault, VariantsDifferStayInBoundsAndHaveAnEffect) {
  std::map<FaultKind, int> places, bites;
  std::vector<Programs> all;
  all.emplace_back(carved(), "opencl");
  all.emplace_back(carved(), "vulkan");
  all.emplace_back(quantized_suite(), "opencl");
  all.emplace_back(carved(), "vulkan:subgroups=8");
  for (const Programs& programs : all) {
    for (size_t k = 0; k < programs.kernels().size(); ++k) {
      const std::string& name = programs.kernels()[k].name;
      // Features that the first of them lacks.
      const bool tree = name.starts_with("paged_attention") || name.starts_with("rms_norm");
      if ((&programs == &all[1] || &programs == &all[3]) && !tree) continue;
      if (&programs == &all[2] && !name.starts_with("dequantize")) continue;
      const tir::PrimFuncRef scheduled = programs.scheduled(name);
      const std::vector<HostTensor> clean = programs.run(k, *scheduled);
      const std::string text = text::print(*scheduled, "kernel");
      for (const FaultKindInfo& info : fault_kinds()) {
        if (!info.variants) continue;
        const variants::Variants variants = info.variants(*scheduled);
        places[info.kind] += static_cast<int>(variants.size());
        // Most buffers that may overlap are dead by then, so all variants are tried.
        const bool every = info.kind == FaultKind::kSharedOverlap;
        const size_t step = every ? 1 : std::max<size_t>(1, variants.size() - 1);
        for (size_t i = 0; i < variants.size(); i += step) {
          SCOPED_TRACE(name + " " + info.name + " " + std::to_string(i));
          EXPECT_TRUE(text::print(*variants[i], "kernel") != text);
          EXPECT_TRUE(allocates_once(*variants[i]));
          ASSERT_EQ(variants[i]->params.size(), scheduled->params.size());
          if (ends_process(info.kind)) continue;
          std::vector<HostTensor> changed;
          ASSERT_NO_THROW(changed = programs.run(k, *variants[i]));
          bites[info.kind] += same_bits(clean, changed) ? 0 : 1;
        }
      }
    }
  }
  for (const FaultKindInfo& info : fault_kinds()) {
    if (!info.variants) continue;
    EXPECT_GT(places[info.kind], 0) << info.name;
    if (ends_process(info.kind) || info.kind == FaultKind::kMissingBarrier) continue;
    EXPECT_GT(bites[info.kind], 0) << info.name;
  }
}

// The difference of two runs, relative to the largest element of the first.
double relative_difference(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  double largest = 0, difference = 0;
  for (size_t t = 0; t < a.size(); ++t) {
    if (!is_float(a[t].dtype())) continue;
    for (int64_t i = 0; i < a[t].size(); ++i) {
      const double own = std::abs(b[t].at_f64(i) - a[t].at_f64(i));
      largest = std::max(largest, std::abs(a[t].at_f64(i)));
      difference = std::isnan(own) ? INFINITY : std::max(difference, own);
    }
  }
  return difference / largest;
}

// An initial value common to all scores of a softmax would only change their rounding.
TEST(Fault, AMissingInitShowsBeyondRounding) {
  for (const char* target : {"opencl", "vulkan"}) {
    const Programs programs(carved(), target);
    int attention = 0;
    for (size_t k = 0; k < programs.kernels().size(); ++k) {
      const std::string& name = programs.kernels()[k].name;
      const tir::PrimFuncRef scheduled = programs.scheduled(name);
      const std::vector<HostTensor> clean = programs.run(k, *scheduled);
      for (const tir::PrimFuncRef& variant : variants::missing_init(*scheduled)) {
        const std::vector<HostTensor> changed = programs.run(k, *variant);
        if (same_bits(clean, changed)) continue;
        attention += name.starts_with("paged_attention") ? 1 : 0;
        EXPECT_GT(relative_difference(clean, changed), 1e-3)
            << target << " " << text::print(*variant, name);
      }
    }
    EXPECT_GT(attention, 2) << target << ": maximum, scores, sum, output";
  }
}

}  // namespace
}  // namespace tapml::topdown
