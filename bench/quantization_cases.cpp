// Four-bit weights compared with the same model's in bf16, and activations of eight bits with those
// in floats, on the CPU.
#include <numeric>

#include "base/rng.h"
#include "cases.h"
#include "frontend/huggingface/quantize.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "models/quantization.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "random_model.h"

namespace tapml::bench {

namespace {

constexpr int64_t kQuantizedPrompt = 512, kQuantizedSteps = 8;

class Model {
 public:
  explicit Model(const frontend::HuggingFaceModel& files)
      : engine_(unwrap(llm::Engine::create(
            *session_, pipeline::compile(files.module, target::parse_target("cpu")),
            files.weights))) {}

  // Tokens per second.
  double prefill() const {
    std::vector<int32_t> tokens(kQuantizedPrompt);
    std::iota(tokens.begin(), tokens.end(), 1);
    engine_->reset();
    return kQuantizedPrompt / seconds_of(
                                  [&] {
                                    unwrap(engine_->prefill(tokens));
                                    unwrap(session_->synchronize(runtime::kDefaultStream));
                                  },
                                  1);
  }
  double decode() const {
    engine_->reset();
    int32_t token =
        unwrap(engine_->sample(unwrap(engine_->prefill(std::vector<int32_t>{1, 2, 3, 4}))));
    return kQuantizedSteps / seconds_of(
                                 [&] {
                                   for (int64_t i = 0; i < kQuantizedSteps; ++i) {
                                     token =
                                         unwrap(engine_->sample(unwrap(engine_->decode(token))));
                                   }
                                 },
                                 1);
  }

 private:
  std::shared_ptr<runtime::LocalSession> session_ = cpu_session();
  std::unique_ptr<llm::Engine> engine_;
};

// One model in two forms, shared by the rows that compare them.
struct Beside {
  Model own, peer;
};

// Quantized weights beside those in bf16, or activations of eight bits (`inputs`) beside floats.
std::shared_ptr<Beside> beside(const std::string& file, const std::string& quantization,
                               bool inputs) {
  static std::map<std::string, std::weak_ptr<Beside>> kept;
  std::weak_ptr<Beside>& known = kept[file + " " + quantization + (inputs ? " int8" : "")];
  if (auto both = known.lock()) return both;
  RandomWeights packed = {.quantization = models::Quantization::parse(quantization)};
  const RandomWeights peer = inputs ? packed : RandomWeights{.dtype = DType::kBF16};
  packed.quantized_inputs = inputs;
  auto both = std::make_shared<Beside>(
      Beside{Model(random_model(file, packed)), Model(random_model(file, peer))});
  known = both;
  return both;
}

Case row(const std::string& name, const std::string& file, const std::string& quantization,
         double (Model::*rate)() const, bool inputs = false) {
  Case result{.name = "quantized/" + name + "_" + quantization + (inputs ? "_int8" : "") +
                      (rate == &Model::decode ? "/decode" : "/prefill_512"),
              .unit = "tokens/s",
              .peer = inputs ? quantization : "bf16",
              .bar = 0,
              .no_bar = true,
              .prepare = {}};
  result.prepare = [=](std::string&) -> Pair {
    auto both = beside(file, quantization, inputs);
    return {[=] { return (both->own.*rate)(); }, [=] { return (both->peer.*rate)(); }};
  };
  return result;
}

// Megabytes of f32 weights that import quantizes per second, on one thread, for the feed-forward
// matrix of a model with 7 billion parameters.
Case import_row(const std::string& quantization) {
  Case result{.name = "quantized/import_4096x11008_" + quantization,
              .unit = "MB/s",
              .peer = "",
              .bar = 100,
              .figure = true,
              .prepare = {},
              .pairs = 5};
  result.prepare = [=](std::string&) -> Pair {
    const models::WeightSpec spec{"w", {11008, 4096}, {}, true};
    auto weight = std::make_shared<HostTensor>(HostTensor::zeros(DType::kF32, spec.shape));
    fill_uniform(weight->mutable_values<float>(), philox_key(1, spec.name));
    return {[=] {
              const double seconds = seconds_of([&] {
                frontend::quantize_weight(spec, {weight.get(), 1},
                                          models::parse_layout(quantization, "bench"), "bench");
              });
              return static_cast<double>(weight->byte_size()) / 1e6 / seconds;
            },
            {}};
  };
  return result;
}

}  // namespace

std::vector<Case> quantization_cases() {
  const std::string demo = std::string(kDemo) + "/config.json";
  std::vector<Case> cases;
  for (const char* quantization : {"q4f32", "q4f16"}) {
    cases.push_back(row("llama_171m", kLlama171m, quantization, &Model::decode));
    cases.push_back(row("llama_171m", kLlama171m, quantization, &Model::prefill));
    cases.push_back(row("demo", demo, quantization, &Model::decode));
    cases.push_back(import_row(quantization));
  }
  for (const char* quantization : {"q2f32", "q3f32", "q5f32", "q6f32", "q8f32", "q4f32m"}) {
    cases.push_back(row("llama_171m", kLlama171m, quantization, &Model::decode));
  }
  for (const auto& [name, file] :
       {std::pair{"llama_171m", kLlama171m}, std::pair{"smollm2_135m", kSmolLm2}}) {
    cases.push_back(row(name, file, "q4f32", &Model::decode, true));
    cases.push_back(row(name, file, "q4f32", &Model::prefill, true));
  }
  return cases;
}

}  // namespace tapml::bench
