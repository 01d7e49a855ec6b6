// Models with state spaces: their interface, the scan, and configurations that are refused.
#include <gtest/gtest.h>

#include "models/scan_call.h"
#include "models/state_space_fields.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using interp::Value;

std::vector<std::string> states_of(const std::string& name) {
  std::vector<std::string> texts;
  for (const StateTensor& state : testing::golden_model(name).interface().state) {
    texts.push_back(state_text(state));
  }
  return texts;
}

TEST(StateSpace, RecurrentStateIsBesideTheCache) {
  const std::vector<std::string> mamba = states_of("mamba2");
  ASSERT_EQ(mamba.size(), 6U);  // two a layer
  EXPECT_EQ(mamba[0], "convolution.0: recurrent f32[3, 192]");
  EXPECT_EQ(mamba[1], "state_space.0: recurrent f32[8, 16, 16]");
  const std::vector<std::string> granite = states_of("granitemoehybrid");
  ASSERT_EQ(granite.size(), 6U);
  EXPECT_EQ(granite[1], "state_space.0: recurrent f32[8, 16, 16]");
  EXPECT_EQ(granite[2], "k_pool.1: paged f32[2, 16]");
  EXPECT_EQ(granite[5], "state_space.2: recurrent f32[8, 16, 16]");
  EXPECT_EQ(states_of("granitemoehybrid_attention").size(), 4U);  // k and v of two layers
  EXPECT_EQ(states_of("falcon_h1").size(), 12U);                  // four a layer
}

// The scan's formula, written out for two texts in slots 2 and 0 of three.
TEST(StateSpace, ScanIsTheRecurrence) {
  constexpr int64_t kTexts = 2, kTokens = 5, kHeads = 8, kSize = 16, kGroups = 2, kState = 16,
                    kRows = 3;
  const std::vector<int32_t> slots = {2, 0};
  std::mt19937 random(5);
  const Shape tokens = {kTexts, kTokens, kHeads, kSize}, steps = {kTexts, kTokens, kHeads},
              shared = {kTexts, kTokens, kGroups, kState};
  const HostTensor x = uniform(random, tokens, -1, 1), dt = uniform(random, steps, 0, 1),
                   decay = uniform(random, steps, 0.5, 1), b = uniform(random, shared, -1, 1),
                   c = uniform(random, shared, -1, 1),
                   state = uniform(random, {kRows, kHeads, kSize, kState}, -1, 1);
  std::vector<Value> args;
  for (const HostTensor& one : {x, dt, decay, b, c}) {
    args.push_back(Value::tensor(op::RefTensor::from(one)));
  }
  args.push_back(int_tensor({kTexts}, slots));
  args.push_back(Value::tensor(op::RefTensor::from(state)));

  const Value result =
      call_scan(testing::golden_model("mamba2").model.module, "state_space", args, tokens);
  const op::RefTensor& out = result.as_tuple()[0].as_tensor();
  const op::RefTensor& after = result.as_tuple()[1].as_tensor();

  for (int64_t i = 0; i < kHeads * kSize * kState; ++i) {  // slot 1 is nobody's
    const int64_t at = kHeads * kSize * kState + i;
    EXPECT_EQ(after.values[static_cast<size_t>(at)], state.at_f64(at));
  }
  for (int64_t text = 0; text < kTexts; ++text) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t j = 0; j < kSize; ++j) {
        const int64_t row = ((slots[static_cast<size_t>(text)] * kHeads + h) * kSize + j) * kState;
        std::vector<double> s;
        for (int64_t k = 0; k < kState; ++k) s.push_back(state.at_f64(row + k));
        for (int64_t t = 0; t < kTokens; ++t) {
          const int64_t token = text * kTokens + t, step = token * kHeads + h;
          const int64_t at = step * kSize + j;
          const int64_t group = (token * kGroups + h / (kHeads / kGroups)) * kState;
          double sum = 0;
          for (int64_t k = 0; k < kState; ++k) {
            double& one = s[static_cast<size_t>(k)];
            one = decay.at_f64(step) * one + dt.at_f64(step) * x.at_f64(at) * b.at_f64(group + k);
            sum += c.at_f64(group + k) * one;
          }
          EXPECT_NEAR(out.values[static_cast<size_t>(at)], sum, 1e-5);
        }
        for (int64_t k = 0; k < kState; ++k) {
          EXPECT_NEAR(after.values[static_cast<size_t>(row + k)], s[static_cast<size_t>(k)], 1e-5);
        }
      }
    }
  }
}

TEST(StateSpace, StateStaysF32InNarrowerModels) {
  const auto config = frontend::read_config(testing::golden_path("logits/mamba2/config.json"));
  const Module module = models::build_decoder(
      config.config.model, {.fallback = DType::kF16,
                            .by_name = {},
                            .precision = {.activations = DType::kF16, .cache = DType::kF16}});
  for (const StateTensor& state : unwrap(model_interface_of(module.all_attrs())).state) {
    EXPECT_EQ(state.dtype, DType::kF32) << state.name;
  }
}

void parse(const std::string& type, const std::string& fields) {
  frontend::parse_config(
      R"({"model_type": ")" + type + R"(", "num_hidden_layers": 2, )" + fields + "}",
      "config.json");
}

void refuses(const std::string& type, const std::string& fields,
             const std::vector<std::string>& parts) {
  SCOPED_TRACE(fields);
  testing::expect_user_error([&] { parse(type, fields); }, parts);
}

const std::string kMamba = R"("hidden_size": 64, "num_heads": 8, "head_dim": 16, "n_groups": 2)";

TEST(StateSpaceConfig, RefusesWhatItCannotExpress) {
  refuses("mamba2", R"("hidden_size": 64, "num_heads": 8)",
          {"\"hidden_size\"", "8 heads of 64 elements", "128 elements in all heads together"});
  refuses("mamba2", R"("hidden_size": 64, "num_heads": 8, "head_dim": 17)", {"\"head_dim\""});
  refuses("mamba2", R"("hidden_size": 64, "num_heads": 4, "head_dim": 32)",
          {"\"num_heads\"", "8 groups of 4 heads"});
  refuses("mamba2", R"("hidden_size": 64, "num_heads": 8, "head_dim": 16, "n_groups": 3)",
          {"\"n_groups\"", "3 groups of 8 heads"});
  for (const char* key :
       {"state_size", "conv_kernel", "expand", "num_hidden_layers", "vocab_size"}) {
    refuses("mamba2", kMamba + ", \"" + key + "\": 0", {std::string("\"") + key + "\""});
  }
  refuses("mamba2", kMamba + R"(, "state_size": 4096)", {"\"state_size\"", "1024"});
  refuses("mamba2", kMamba + R"(, "use_conv_bias": 1)", {"\"use_conv_bias\"", "true or false"});
  refuses("mamba2", kMamba + R"(, "hidden_act": "mish")", {"\"hidden_act\"", "silu"});
  refuses("mamba2", kMamba + R"(, "residual_in_fp32": "yes")", {"\"residual_in_fp32\""});
  refuses("mamba2", kMamba + R"(, "quantization_config": {})",
          {"\"quantization_config.quant_method\""});
}

TEST(StateSpaceConfig, TimeStepLimits) {
  for (const char* limits :
       {"[0.0, Infinity]", R"([0.001, {"__float__": "Infinity"}])", "[1, 1]"}) {
    parse("mamba2", kMamba + R"(, "time_step_limit": )" + limits);
  }
  const auto refused_limits = [](const std::string& limits, const std::string& problem) {
    refuses("mamba2", kMamba + R"(, "time_step_limit": )" + limits,
            {"\"time_step_limit\"", problem});
  };
  refused_limits("null", "an array");
  refused_limits("0.5", "an array");
  refused_limits("[0.1]", "does not have two limits");
  refused_limits("[0.5, 0.1]", "above the largest");
  refused_limits("[Infinity, Infinity]", "above the largest");
  refused_limits("[-1, 1]", "something else than a limit");
  refused_limits("[0, \"inf\"]", "something else than a limit");
}

const std::string kGranite =
    R"("hidden_size": 64, "num_attention_heads": 4, "mamba_n_heads": 8, "num_local_experts": 0)";

TEST(StateSpaceConfig, Granite) {
  parse("granitemoehybrid", kGranite);
  refuses("granitemoehybrid", R"("hidden_size": 64, "num_attention_heads": 4, "mamba_n_heads": 3)",
          {"\"mamba_n_heads\"", "3 heads of 128 elements"});
  refuses("granitemoehybrid", kGranite + R"(, "mamba_d_head": "all")", {"\"mamba_d_head\""});
  refuses("granitemoehybrid", kGranite + R"(, "layer_types": ["mamba"])",
          {"\"layer_types\"", "has 1 layers", "2"});
  refuses("granitemoehybrid", kGranite + R"(, "layer_types": ["mamba", "moe"])",
          {"\"layer_types\"", "\"moe\"", "linear_attention"});
  refuses("granitemoehybrid", kGranite + R"(, "position_embedding_type": "alibi")",
          {"\"position_embedding_type\"", "nope or rope"});
}

const std::string kFalcon =
    R"("hidden_size": 64, "num_attention_heads": 8, "mamba_n_heads": 8, "mamba_d_ssm": 96)";

TEST(StateSpaceConfig, FalconH1) {
  parse("falcon_h1", kFalcon);
  refuses("falcon_h1", kFalcon + R"(, "mamba_d_head": 8)", {"\"mamba_d_head\"", "96 elements"});
  refuses("falcon_h1", kFalcon + R"(, "mlp_multipliers": [1])",
          {"\"mlp_multipliers\"", "number of factors", "2"});
  refuses("falcon_h1", kFalcon + R"(, "ssm_multipliers": [1, 1, "1", 1, 1])",
          {"\"ssm_multipliers[2]\"", "is not a factor"});
  refuses("falcon_h1", kFalcon + R"(, "key_multiplier": 0)", {"\"key_multiplier\"", "is 0"});
}

const std::string kNemotron = R"("mamba_num_heads": 8, "n_groups": 2)";

TEST(StateSpaceConfig, NemotronH) {
  parse("nemotron_h", kNemotron + R"(, "hybrid_override_pattern": "M-*")");
  parse("nemotron_h", kNemotron + R"(, "layers_block_type": ["mamba", "mlp", "attention"])");
  parse("nemotron_h", kNemotron);
  refuses("nemotron_h", kNemotron + R"(, "moe_latent_size": 8)", {"\"moe_latent_size\""});
  refuses("nemotron_h", kNemotron + R"(, "hybrid_override_pattern": "MX")",
          {"\"hybrid_override_pattern\"", "\"X\""});
  refuses("nemotron_h", kNemotron + R"(, "hybrid_override_pattern": "")",
          {"\"hybrid_override_pattern\"", "0 layers"});
  refuses("nemotron_h", kNemotron + R"(, "layer_types": ["hybrid"])",
          {"\"layer_types\"", "\"hybrid\""});
  refuses("nemotron_h",
          kNemotron + R"(, "hybrid_override_pattern": "M", "tie_word_embeddings": true)",
          {"\"tie_word_embeddings\""});
}

TEST(StateSpaceConfig, FieldsThatNemotronHDoesNotReadAreWarnings) {
  const auto config = frontend::parse_config(
      R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-", "attention_bias": true,
          "num_hidden_layers": 3, "sliding_window": 5, )" +
          kNemotron + "}",
      "config.json");
  EXPECT_EQ(config.warnings.size(), 3U);
}

}  // namespace
}  // namespace tapml
