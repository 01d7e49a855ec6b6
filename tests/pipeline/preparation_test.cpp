// Weights that are packed once: from a module with weights to calls of the compiled program.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "passes/hoist_weight_prepacking.h"
#include "passes/kernel.h"
#include "passes/lift_preparation.h"
#include "pipeline/compile.h"
#include "relax/expr.h"
#include "relax/visit.h"
#include "run_module.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml {
namespace {

using testing::random_tensor;

// Two public functions share w; v is used by one of them, and by helper not as a weight.
const char* const kModel = R"(module {model.weights: ["w", "v"]}
def many(x: Tensor((n, 96), f32), w: Tensor((80, 96), f32), v: Tensor((80, 96), bf16)) -> Tensor((n, 80), f32) {
  dataflow {
    a: Tensor((n, 80), f32) = matmul(x, w) {transpose_b: true}
    b: Tensor((n, 80), f32) = silu(a)
    c: Tensor((n, 80), f32) = matmul(x, v) {transpose_b: true}
    y: Tensor((n, 80), f32) = add(b, c)
    output y
  }
  return y
}
def one(x: Tensor((1, 96), f32), w: Tensor((80, 96), f32), v: Tensor((80, 96), bf16)) -> Tensor((1, 80), f32) {
  dataflow {
    a: Tensor((1, 80), f32) = matmul(x, w) {transpose_b: true}
    y: Tensor((1, 80), f32) = exp(a)
    output y
  }
  return y
}
def inner(x: Tensor((4, 96), f32), w: Tensor((80, 96), f32)) -> Tensor((4, 80), f32) {
  y: Tensor((4, 80), f32) = matmul(x, w) {transpose_b: true}
  return y
}
def outer(x: Tensor((4, 96), f32), z: Tensor((80, 96), f32)) -> Tensor((4, 80), f32) {
  y: Tensor((4, 80), f32) = @inner(x, z)
  return y
}
)";

class LoadedModel {
 public:
  explicit LoadedModel(const pipeline::ImplementOptions& options = {}, const char* text = kModel)
      : session_(testing::open_session("cpu")) {
    executable_ =
        pipeline::compile(text::parse(text, "model"), target::parse_target("cpu"), options);
    auto vm = runtime::LocalVirtualMachine::create(*session_, executable_);
    EXPECT_TRUE(vm) << vm.error().to_string();
    vm_ = std::move(*vm);
  }
  const Executable& executable() const { return *executable_; }
  // A runner of single kernels, with memory of its own.
  std::unique_ptr<runtime::KernelRunner> kernel_runner() {
    auto runner = runtime::KernelRunner::create(*session_, executable_);
    EXPECT_TRUE(runner) << runner.error().to_string();
    return runner ? std::move(*runner) : nullptr;
  }
  runtime::LocalVirtualMachine& vm() { return *vm_; }
  runtime::Value upload(const HostTensor& tensor) { return *runtime::upload(*session_, tensor); }
  runtime::Value call(const std::string& function, const std::vector<runtime::Value>& args) {
    auto result = vm_->call(function, args);
    EXPECT_TRUE(result) << result.error().to_string();
    return result ? *result : runtime::Value();
  }
  HostTensor tensor(const runtime::Value& value) {
    return value.tensor() ? *runtime::download(*value.tensor()) : HostTensor();
  }

 private:
  std::unique_ptr<runtime::Session> session_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
};

TEST(Preparation, EachWeightIsPackedOnceForAllFunctions) {
  Module planned;
  pipeline::ImplementOptions options;
  options.planned = &planned;
  options.instruments.verify = true;
  LoadedModel compiled(options);
  EXPECT_EQ(planned.facts.prepared, (std::vector<std::string>{"prepared.0", "prepared.1"}));
  const std::string prepare = text::print(*planned.find("prepare"), "prepare");
  EXPECT_NE(prepare.find("v: Tensor((80, 96), bf16)\n) -> Tuple(Tensor(("), std::string::npos)
      << prepare;
  size_t packings = 0;
  for (size_t at = 0; (at = prepare.find("memory.prepare(", at)) != std::string::npos; ++at) {
    ++packings;
  }
  EXPECT_EQ(packings, 2u) << prepare;
  const std::string many = text::print(*planned.find("many"), "many");
  const std::string one = text::print(*planned.find("one"), "one");
  EXPECT_NE(many.find("{prepared: 3}"), std::string::npos) << many;
  EXPECT_NE(many.find("{prepared: 4}"), std::string::npos) << many;
  EXPECT_NE(one.find("{prepared: 3}") == std::string::npos,
            one.find("{prepared: 4}") == std::string::npos)
      << "the one of w\n"
      << one;
  // Functions that others call keep their parameters.
  EXPECT_EQ(relax::as_relax_function(planned.find("inner"))->params.size(), 2u);
  EXPECT_EQ(relax::as_relax_function(planned.find("one"))->params.size(), 5u);
}

// Each value uses the previous one twice: prepare has as many bindings, and the search for equal
// values is as long.
TEST(Preparation, ALongChainFromAWeight) {
  std::string source =
      "module {model.weights: [\"w0\"]}\n"
      "def main(x: Tensor((n, 4), f32), w0: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {\n"
      "  dataflow {\n";
  constexpr int kSteps = 5000;
  for (int i = 0; i < kSteps; ++i) {
    const std::string w = "w" + std::to_string(i);
    source +=
        "    w" + std::to_string(i + 1) + ": Tensor((4, 4), f32) = minimum(" + w + ", " + w + ")\n";
  }
  source += "    y: Tensor((n, 4), f32) = matmul(x, w" + std::to_string(kSteps) +
            ")\n    output y\n  }\n  return y\n}\n";
  Module module = passes::lift_preparation(text::parse(source, "model"));
  const auto* prepare = relax::as_relax_function(module.find("prepare"));
  ASSERT_NE(prepare, nullptr);
  EXPECT_EQ(relax::body_of(*prepare).blocks[0].bindings.size(), static_cast<size_t>(kSteps));
}

TEST(Preparation, KernelsKnowTheirWeights) {
  Module fixed = pipeline::form_kernels(text::parse(kModel, "model"));
  int marked = 0;
  for (const auto& [name, function] : fixed.functions) {
    if (!passes::is_kernel(function.get())) continue;
    const std::optional<std::vector<int64_t>>& weights = function->facts.weights;
    const tir::PrimFunc& program = passes::kernel_implementation(fixed, name);
    EXPECT_EQ(weights.has_value(), program.facts.weights.has_value()) << name;
    if (weights) {
      EXPECT_EQ(program.params.at(weights->at(0)).buffer->shape.size(), 2u);
    }
    marked += weights ? 1 : 0;
  }
  EXPECT_GE(marked, 2) << text::print(fixed);
}

TEST(Preparation, ResultsStayWithinRounding) {
  LoadedModel packed;
  pipeline::ImplementOptions options;
  options.prepare = false;
  LoadedModel plain(options);
  EXPECT_EQ(plain.executable().find_function("prepare"), nullptr);
  const HostTensor w = random_tensor({80, 96}, DType::kF32, 1);
  const HostTensor v = random_tensor({80, 96}, DType::kBF16, 2);
  std::vector<runtime::Value> held = {packed.upload(w), packed.upload(v)};
  const runtime::Value prepared = packed.call("prepare", held);
  ASSERT_NE(prepared.tuple(), nullptr);
  held.insert(held.end(), prepared.tuple()->begin(), prepared.tuple()->end());
  for (const char* function : {"many", "one"}) {
    for (int64_t rows : {1, 5, 40}) {
      if (std::string(function) == "one" && rows != 1) continue;
      const HostTensor x = random_tensor({rows, 96}, DType::kF32, 3);
      std::vector<runtime::Value> args = {packed.upload(x)};
      args.insert(args.end(), held.begin(), held.end());
      const HostTensor found = packed.tensor(packed.call(function, args));
      const HostTensor expected =
          plain.tensor(plain.call(function, {plain.upload(x), plain.upload(w), plain.upload(v)}));
      ASSERT_EQ(found.shape(), expected.shape());
      for (int64_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found.at_f64(i), expected.at_f64(i), 1e-4 + 1e-4 * std::abs(expected.at_f64(i)))
            << function << " of " << rows << " rows, element " << i;
      }
    }
  }
}

// A single kernel packs into its own memory with the same bits, so carved tests check what the run
// used.
TEST(Preparation, AKernelAloneComputesTheSame) {
  LoadedModel packed;
  const HostTensor w = random_tensor({80, 96}, DType::kF32, 1);
  const HostTensor v = random_tensor({80, 96}, DType::kBF16, 2);
  const HostTensor x = random_tensor({9, 96}, DType::kF32, 3);
  struct Recorder : runtime::Observer {
    bool wants(const runtime::CallSite& site, int64_t) noexcept override {
      return site.function == "many";
    }
    Status before(const runtime::KernelCall&) noexcept override { return {}; }
    Status after(const runtime::KernelCall& call) noexcept override {
      std::vector<runtime::Tensor> args;
      for (size_t i = 0; i < call.args.size(); ++i) args.push_back(call.args[i]);
      TAPML_ASSIGN(HostTensor seen, runtime::download(args.back()));
      // The caller's storages are not shared: the outputs of this call use other memory.
      TAPML_ASSIGN(args.back(), runtime::make_tensor(args.back().storage->session(),
                                                     args.back().dtype, seen.shape()));
      TAPML_TRY(
          runner->enqueue(static_cast<int32_t>(call.site.kernel - kernels), args, call.scalars));
      TAPML_ASSIGN(HostTensor again, runtime::download(args.back()));
      equal += content_hash(seen) == content_hash(again) ? 1 : 0;
      ++calls;
      return {};
    }
    runtime::KernelRunner* runner = nullptr;
    const KernelInfo* kernels = nullptr;
    int calls = 0, equal = 0;
  } recorder;
  const std::unique_ptr<runtime::KernelRunner> runner = packed.kernel_runner();
  ASSERT_NE(runner, nullptr);
  recorder.runner = runner.get();
  recorder.kernels = packed.executable().kernels.data();
  std::vector<runtime::Value> args = {packed.upload(x), packed.upload(w), packed.upload(v)};
  const runtime::Value prepared =
      packed.call("prepare", std::vector<runtime::Value>{args[1], args[2]});
  args.insert(args.end(), prepared.tuple()->begin(), prepared.tuple()->end());
  packed.vm().call_point().set_observer(&recorder);
  packed.call("many", args);
  EXPECT_GE(recorder.calls, 2);
  EXPECT_EQ(recorder.equal, recorder.calls);
}

TEST(Preparation, ArgumentsAreChecked) {
  LoadedModel packed;
  std::vector<runtime::Value> args = {packed.upload(random_tensor({1, 96}, DType::kF32, 3)),
                                      packed.upload(random_tensor({80, 96}, DType::kF32, 1)),
                                      packed.upload(random_tensor({80, 96}, DType::kBF16, 2))};
  auto result = packed.vm().call("one", args);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUser);
  EXPECT_EQ(result.error().expected, "5 arguments");
}

}  // namespace
}  // namespace tapml
