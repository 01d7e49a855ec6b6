// The reference evaluator at the size of real models: a step of a whole model, and one kernel.
#include <malloc.h>

#include <fstream>

#include "base/host/thread_pool.h"
#include "base/rng.h"
#include "cases.h"
#include "ceilings.h"
#include "ir/exceptions.h"
#include "models/quantization.h"
#include "op/operator.h"
#include "programs.h"
#include "random_model.h"
#include "topdown/reference_run/model_reference.h"

namespace tapml::bench {

namespace {

constexpr const char* kTinyLlama = "bench/models/tinyllama_1b.json";

const RandomWeights kBF16 = {.dtype = DType::kBF16};

// A line of /proc/self/status, in MiB.
double status_mib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  throw_internal("no line " + name, "/proc/self/status");
}

// A model in the reference evaluator.
struct EvaluatedModel {
  frontend::HuggingFaceModel model;
  ModelInterface interface;

  EvaluatedModel(const char* config, const RandomWeights& weights)
      : model(random_model(config, weights)) {
    interface = unwrap(model_interface_of(model.module.all_attrs()));
  }

  // Bytes that a step reads: all weights but the input embedding.
  int64_t bytes() const {
    int64_t bytes = 0;
    for (const auto& [name, tensor] : model.weights) {
      if (name != "model.embed_tokens.weight") bytes += static_cast<int64_t>(tensor.byte_size());
    }
    return bytes;
  }

  // Evaluates a prefill of one token and a decode step, which read every weight once each.
  void two_steps() const {
    topdown::evaluated_outputs(model.module, interface, model.weights,
                               {.prompt = {1}, .forced = {2}, .cancelled = {}, .inputs = {}}, {});
  }

  static std::shared_ptr<EvaluatedModel> tiny_llama() {
    static std::weak_ptr<EvaluatedModel> kept;
    auto model = kept.lock();
    if (!model) kept = model = std::make_shared<EvaluatedModel>(kTinyLlama, kBF16);
    return model;
  }
};

Pair step_seconds(std::shared_ptr<EvaluatedModel> model) {
  return {[=] { return seconds_of([&] { model->two_steps(); }) / 2; }, nullptr};
}

// The weights that a step reads in a second.
Pair step_rate(std::string&) {
  auto model = EvaluatedModel::tiny_llama();
  const int64_t bytes = model->bytes();
  return against_ceiling(
      [=] { return 2e-9 * static_cast<double>(bytes) / seconds_of([&] { model->two_steps(); }); },
      [=] { return read_gbps(bytes, cpu_threads()); });
}

// The most memory that a step takes beside the weights.
Pair step_memory(std::string& absent) {
  auto model = EvaluatedModel::tiny_llama();
  // Writing 5 resets the largest resident set.
  std::ofstream reset("/proc/self/clear_refs");
  if (!(reset << 5 << std::flush)) {
    absent = "/proc/self/clear_refs cannot be written";
    return {};
  }
  return {[=] {
            malloc_trim(0);  // returns what is freed to the system
            std::ofstream("/proc/self/clear_refs") << 5 << std::flush;
            const double before = status_mib("VmRSS");
            model->two_steps();
            return status_mib("VmHWM") - before;
          },
          nullptr};
}

// A product of one row with errors and the weights of a layer of 4096 / 11008, all elements.
Pair kernel(std::string&) {
  const auto random = [](DType dtype, const Shape& shape, const char* name) {
    HostTensor wide = HostTensor::zeros(DType::kF32, shape);
    fill_uniform(wide.mutable_values<float>(), philox_key(1, name));
    HostTensor tensor = HostTensor::zeros(dtype, shape);
    for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, wide.at_f64(i));
    return tensor;
  };
  auto x =
      std::make_shared<op::RefTensor>(op::RefTensor::from(random(DType::kBF16, {1, 11008}, "x")));
  x->bound.assign(x->values.size(), 1e-5);
  x->systematic.assign(x->values.size(), 1e-6);
  x->deviation.assign(x->values.size(), 1e-6);
  auto weights = std::make_shared<op::RefTensor>(
      op::RefTensor::from(random(DType::kBF16, {4096, 11008}, "w")));
  auto threads = std::make_shared<ThreadPool>();
  return against_ceiling(
      [=] {
        std::vector<op::RefArg> args{{x.get(), {}}, {weights.get(), {}}};
        std::vector<op::RefTensor> out{op::RefTensor::zeros(DType::kBF16, {1, 4096})};
        out[0].threads = threads.get();
        const double seconds = seconds_of(
            [&] { op::find_operator("matmul")->reference({{"transpose_b", true}}, args, out); });
        return 2e-9 * static_cast<double>(weights->values.size()) / seconds;
      },
      [=] { return read_gbps(2 * static_cast<int64_t>(weights->values.size()), cpu_threads()); });
}

// A step of a smaller model, compared with one whose weights are dequantized in blocks.
Pair four_bits(std::string&) {
  const auto step_of = [](const RandomWeights& weights) {
    return step_seconds(std::make_shared<EvaluatedModel>(kLlama171m, weights)).ours;
  };
  return {step_of(kBF16),
          step_of({.dtype = DType::kF32, .quantization = models::Quantization::parse("q4f32")})};
}

}  // namespace

std::vector<Case> reference_cases() {
  return {
      {.name = "reference/kernel_4096x11008",
       .unit = "GB/s",
       .peer = "read",
       .no_bar = true,
       .prepare = kernel},
      {.name = "reference/step_1b_rate",
       .unit = "GB/s",
       .peer = "read",
       .no_bar = true,
       .prepare = step_rate,
       .pairs = 5},
      {.name = "reference/step_1b",
       .unit = "s",
       .bound = Bound::kAtMost,
       .bar = 5,
       .figure = true,
       .prepare = [](std::string&) { return step_seconds(EvaluatedModel::tiny_llama()); },
       .pairs = 5},
      {.name = "reference/step_1b_memory",
       .unit = "MiB",
       .bound = Bound::kAtMost,
       .bar = 512,
       .figure = true,
       .prepare = step_memory,
       .pairs = 3},
      {.name = "reference/step_171m",
       .unit = "s",
       .peer = "four-bit weights",
       .no_bar = true,
       .prepare = four_bits,
       .pairs = 5},
  };
}

}  // namespace tapml::bench
