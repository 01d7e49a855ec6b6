// What memory_report() predicts is what the device hands out, to the byte.
#include <gtest/gtest.h>

#include <random>

#include "arith/evaluate.h"
#include "ir/exceptions.h"
#include "models/llama.h"
#include "passes/memory/report.h"
#include "pipeline/compile.h"
#include "relax/expr.h"
#include "relax/visit.h"
#include "runtime/vm.h"
#include "support/sessions.h"
#include "text/parser.h"

namespace tapml {
namespace {

using Values = std::map<std::string, int64_t>;

int64_t value_of(const PrimExpr& expr, const Values& values) {
  arith::Values by_variable;
  for (const Var& var : free_vars(expr)) by_variable[var.get()] = values.at(var->name);
  return arith::evaluate(expr, by_variable).value();
}

struct Compiled {
  std::shared_ptr<const Executable> executable;
  passes::MemoryReport report;
  Module fixed;

  const passes::FunctionMemory& function(const std::string& name) const {
    for (const auto& one : report.functions) {
      if (one.name == name) return one;
    }
    throw_internal("no function " + name);
  }
};

Compiled compile(const Module& module, const Values& bounds = {}) {
  Compiled result;
  Module planned;
  pipeline::ImplementOptions options;
  options.planned = &planned;
  options.memory.bounds = bounds;
  result.fixed = pipeline::fix_kernels(module);
  result.executable = pipeline::implement(result.fixed, target::parse_target("null"), options);
  result.report = passes::memory_report(planned);
  return result;
}

// A device that counts, its machine, and what it had handed out before the machine was there.
class Meter {
 public:
  explicit Meter(const Compiled& compiled) : compiled_(compiled) {
    session_ = std::move(*runtime::LocalSession::create(device_));
  }

  // Arguments of zeros, made before anything is measured.
  void prepare(const std::string& function, const Values& values) {
    args_.clear();
    const auto& source = *relax::as_relax_function(compiled_.fixed.find(function));
    for (const relax::Variable& param : source.params) {
      const auto* tensor = relax::as_tensor(param->annotation);
      ASSERT_TRUE(tensor && tensor->shape && tensor->dtype);
      Shape shape;
      for (const PrimExpr& dim : *tensor->shape) shape.push_back(value_of(dim, values));
      auto made = runtime::make_tensor(*session_, *tensor->dtype, shape);
      ASSERT_TRUE(made);
      args_.emplace_back(*made);
    }
  }

  void load() {
    before_ = device_->counts().live_bytes;
    machine_ = std::move(*runtime::VirtualMachine::create(*session_, compiled_.executable));
  }

  // The most that was handed out at one time since load().
  int64_t call(const std::string& function) {
    auto result = machine_->call(function, args_);
    EXPECT_TRUE(result) << result.error().to_string();
    return device_->counts().peak_bytes - before_;
  }

  int64_t allocations() const { return device_->counts().allocations; }
  runtime::VirtualMachine& machine() { return *machine_; }
  std::vector<runtime::Value>& args() { return args_; }

 private:
  const Compiled& compiled_;
  std::shared_ptr<device::NullDevice> device_ = std::make_shared<device::NullDevice>();
  std::unique_ptr<runtime::LocalSession> session_;
  std::vector<runtime::Value> args_;
  std::unique_ptr<runtime::VirtualMachine> machine_;
  int64_t before_ = 0;
};

int64_t measure(const Compiled& compiled, const std::string& function, const Values& values) {
  Meter meter(compiled);
  meter.prepare(function, values);
  meter.load();
  return meter.call(function);
}

models::LlamaConfig random_llama(unsigned seed) {
  std::mt19937 random(seed);
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  models::LlamaConfig config;
  config.kv_heads = pick(1, 3);
  config.heads = config.kv_heads * pick(1, 3);
  config.head_dim = 2 * pick(2, 6);
  config.hidden = pick(5, 40);
  config.intermediate = pick(5, 70);
  config.layers = pick(1, 3);
  config.vocabulary = pick(10, 90);
  config.context = 64;
  config.page_size = 8;
  config.tied_embeddings = pick(0, 1) == 1;
  return config;
}

TEST(PredictedMemory, IsWhatTheDeviceHandsOutForModels) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    models::LlamaConfig config = random_llama(seed);
    Compiled compiled = compile(models::build_llama(config, {}));
    for (int64_t n : {1, 2, 5, 17, 64}) {
      Values values = {{"b", 1 + n % 2}, {"n", n}, {"p", 8}, {"pages", 16}};
      for (const char* function : {"prefill", "logits_all"}) {
        EXPECT_EQ(measure(compiled, function, values),
                  value_of(compiled.function(function).peak, values))
            << "seed " << seed << ", n " << n << ", " << function;
      }
    }
  }
}

const char* const kModules[] = {
    R"(
def main(x: Tensor((2, n), f32)) -> Tensor((n * 2 + 2,), f32) {
  a: Tensor((2, n), f32) = exp(x)
  b: Tensor((n * 2,), f32) = reshape(a, shape(n * 2))
  c: Tensor((n * 2,), f32) = silu(b)
  d: Tensor((n * 2,), f32) = exp(c)
  e: Tensor((n * 2 + 2,), f32) = pad(d) {widths: [0, 2]}
  return e
}
)",
    R"(
def main(x: Tensor((n, m), f32), y: Tensor((m, n), f32)) -> Tensor((n, n), f32) {
  a: Tensor((n, n), f32) = matmul(x, y)
  b: Tensor((n, n), f32) = softmax(a) {axis: -1}
  c: Tensor((m, m), f32) = matmul(y, x)
  d: Tensor((m, m), f32) = softmax(c) {axis: -1}
  e: Tensor((m, n), f32) = matmul(d, y)
  f: Tensor((n, n), f32) = matmul(x, e)
  g: Tensor((n, n), f32) = add(b, f)
  return g
}
)",
    R"(
def main(x: Tensor((n, 3), f32), y: Tensor((n,), i32)) -> Tuple(Tensor((n, 3), f32), Tensor((1,), i32)) {
  a: Tensor((n, 3), f32) = softmax(x) {axis: 0}
  b: Tensor((n, 3), f32) = cumsum(a) {axis: 0}
  c: Tensor((1,), i32) = max(y) {axes: [0], keepdims: true}
  return (b, c)
}
)",
    R"(
def main(x: Tensor((n, 5), f32)) -> Tensor((n, 5), f32) {
  a: Tensor((n, 5), f32) = softmax(x) {axis: 0}
  b: Tensor((n, 5), f32) = sort(a) {axis: 0}
  c: Tensor((5, n), f32) = permute(b) {axes: [1, 0]}
  d: Tensor((5, n), f32) = softmax(c) {axis: 1}
  e: Tensor((n, 5), f32) = permute(d) {axes: [1, 0]}
  f: Tensor((n, 5), f32) = add(e, b)
  return f
}
)",
    R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 7), f32)) -> Tensor((n, 7), f32) {
  a: Tensor((n, 7), f32) = matmul(x, w)
  b: Tensor((n, 7), f32) = softmax(a) {axis: -1}
  c: Tensor((n, 7), f32) = cumsum(b) {axis: 1}
  d: Tensor((n, 7), f32) = softmax(c) {axis: -1}
  return d
}
)"};

TEST(PredictedMemory, IsWhatTheDeviceHandsOutForTextModules) {
  for (const char* text : kModules) {
    Module module = text::parse(text, "test");
    for (bool bounded : {false, true}) {
      Values bounds = bounded ? Values{{"n", 33}, {"m", 20}} : Values{};
      Compiled compiled = compile(module, bounds);
      for (int64_t n : {1, 3, 8, 15, 33}) {
        Values values = {{"n", n}, {"m", n / 2 + 1}};
        EXPECT_EQ(measure(compiled, "main", values),
                  value_of(compiled.function("main").peak, values))
            << text << "n " << n << ", bounded " << bounded;
      }
    }
  }
}

TEST(PredictedMemory, HoldsOverCallsOfManyShapes) {
  Compiled compiled = compile(text::parse(kModules[1], "test"));
  Meter meter(compiled);
  meter.prepare("main", {{"n", 3}, {"m", 2}});
  meter.load();
  int64_t most = 0;
  for (int64_t n : {3, 30, 7, 7, 31, 2}) {
    Values values = {{"n", n}, {"m", n / 2 + 1}};
    most = std::max(most, value_of(compiled.function("main").peak, values));
    Meter fresh(compiled);
    fresh.prepare("main", values);
    fresh.load();
    EXPECT_EQ(fresh.call("main"), value_of(compiled.function("main").peak, values));
  }
  EXPECT_GT(most, 0);
}

TEST(StaticMemory, IsAllocatedAtLoadAndNothingLater) {
  Compiled compiled = compile(text::parse(kModules[1], "test"), {{"n", 33}, {"m", 20}});
  EXPECT_GT(compiled.report.static_bytes, 0);
  Meter meter(compiled);
  meter.prepare("main", {{"n", 33}, {"m", 17}});
  meter.load();
  meter.call("main");
  int64_t before = meter.allocations();
  for (int i = 0; i < 3; ++i) meter.call("main");
  EXPECT_EQ(meter.allocations(), before);
}

TEST(StaticMemory, BoundsAreCheckedAtTheEntry) {
  Compiled compiled = compile(text::parse(kModules[0], "test"), {{"n", 4}});
  // Two chunks, for (2, n) and (2*n + 2,), are no longer needed where kernels work in place.
  Meter meter(compiled);
  meter.prepare("main", {{"n", 5}});
  meter.load();
  auto result = meter.machine().call("main", meter.args());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUser);
  EXPECT_NE(result.error().message.find("above the bound of n"), std::string::npos)
      << result.error().message;
  EXPECT_EQ(result.error().expected, "n <= 4");
}

}  // namespace
}  // namespace tapml
