// Models of 150 million parameters, one of each family of blocks.
#include <numeric>

#include "cases.h"
#include "ceilings.h"
#include "compiled_model.h"
#include "programs.h"

namespace tapml::bench {

namespace {

constexpr int64_t kFamilyPrompt = 512;

struct Family {
  const char* name;
  const char* config;
  bool has_peer = true;  // whether transformers has the architecture
  double active = 1;     // the share of the experts that a token chooses
};

constexpr Family kFamilies[] = {
    {"experts", "bench/models/mixtral_150m.json", true, 2.0 / 16},
    {"latent", "bench/models/minicpm3_150m.json"},
    {"state_space", "bench/models/mamba2_150m.json"},
    {"delta_net", "bench/models/qwen3_5_150m.json"},
    {"wkv", "bench/models/rwkv6_150m.json", false},
};

Case decode_case(const Family& family) {
  return {.name = "decode/family_" + std::string(family.name),
          .unit = "GB/s",
          .peer = "read",
          .bar = 0.7,
          .prepare = [family](std::string&) {
            auto model = std::make_shared<CompiledModel>(random_model(family.config));
            const int64_t bytes = model->decode_bytes(family.active);
            model->decode(4);
            return against_ceiling(
                [=] { return 1e-9 * static_cast<double>(bytes) / model->decode(8); },
                [=] { return read_gbps(bytes, cpu_threads()); });
          }};
}

Case prefill_case(const Family& family) {
  return {.name = "prefill/family_" + std::string(family.name),
          .unit = "tokens/s",
          .peer = "PyTorch eager",
          .bar = 1,
          .prepare =
              [family](std::string& absent) {
                auto model = std::make_shared<CompiledModel>(random_model(family.config));
                return against_torch(absent, kFamilyPrompt,
                                     [=] { return model->prefill(kFamilyPrompt); },
                                     {family.config, "prefill", std::to_string(kFamilyPrompt)});
              },
          .pairs = 9};
}

// A prefill with 16 experts, 2 of which are active, compared with a dense model of the active size.
Pair experts_beside_dense(std::string&) {
  auto experts = std::make_shared<CompiledModel>(random_model("bench/models/mixtral_150m.json"));
  auto dense = std::make_shared<CompiledModel>(random_model("bench/models/llama_24m.json"));
  for (const auto& model : {experts, dense}) model->prefill(kFamilyPrompt);
  return {[=] { return kFamilyPrompt / experts->prefill(kFamilyPrompt); },
          [=] { return kFamilyPrompt / dense->prefill(kFamilyPrompt); }};
}

}  // namespace

std::vector<Case> family_cases() {
  std::vector<Case> cases = {{.name = "prefill/experts_beside_dense",
                              .unit = "tokens/s",
                              .peer = "dense, the active size",
                              .bar = 0.6,
                              .prepare = experts_beside_dense}};
  for (const Family& family : kFamilies) {
    cases.push_back(decode_case(family));
    if (family.has_peer) cases.push_back(prefill_case(family));
  }
  return cases;
}

}  // namespace tapml::bench
