// RWKV 5, 6 and 7: their interface, their scan, batches, and configurations that are refused.
#include <gtest/gtest.h>

#include "models/scan_call.h"
#include "models/table.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using interp::Value;

const char* const kBoth[] = {"rwkv5", "rwkv6"};

TEST(Rwkv, HasRecurrentStateAlone) {
  for (const char* name : kBoth) {
    SCOPED_TRACE(name);
    const ModelInterface model = testing::golden_model(name).interface();
    EXPECT_FALSE(model.has_state(StateKind::kPaged));
    ASSERT_EQ(model.state.size(), 9U);  // three a layer
    EXPECT_EQ(state_text(model.state[0]), "attention_token.0: recurrent f32[64]");
    EXPECT_EQ(state_text(model.state[1]), "wkv.0: recurrent f32[4, 16, 16]");
    EXPECT_EQ(state_text(model.state[2]), "feed_forward_token.0: recurrent f32[64]");
    EXPECT_EQ(model_function_text(*model.find_function("decode")),
              "decode(tokens, slots, recurrent, weights) -> (logits, recurrent)");
  }
}

TEST(Rwkv, SevenHasTheSameState) {
  const ModelInterface model = testing::golden_model("rwkv7").interface();
  EXPECT_FALSE(model.has_state(StateKind::kPaged));
  ASSERT_EQ(model.state.size(), 9U);
  EXPECT_EQ(state_text(model.state[0]), "attention_token.0: recurrent f32[128]");
  EXPECT_EQ(state_text(model.state[1]), "wkv.0: recurrent f32[2, 64, 64]");
  EXPECT_EQ(state_text(model.state[2]), "feed_forward_token.0: recurrent f32[128]");
}

TEST(Rwkv, StateStaysF32InNarrowerModels) {
  const auto config = frontend::read_config(testing::golden_path("logits/rwkv6/config.json"));
  const Module module = models::build_decoder(
      config.config.model, {.fallback = DType::kF16,
                            .by_name = {},
                            .precision = {.activations = DType::kF16, .cache = DType::kF16}});
  for (const StateTensor& state : unwrap(model_interface_of(module.all_attrs())).state) {
    EXPECT_EQ(state.dtype, DType::kF32) << state.name;
  }
}

// The scan's formula, written out for two texts in slots 2 and 0 of three.
TEST(Rwkv, ScanIsTheRecurrence) {
  constexpr int64_t kTexts = 2, kTokens = 5, kHeads = 4, kSize = 16, kRows = 3;
  const std::vector<int32_t> slots = {2, 0};
  std::mt19937 random(5);
  for (const char* name : kBoth) {
    SCOPED_TRACE(name);
    const bool by_token = std::string(name) == "rwkv6";
    const Shape tokens = {kTexts, kTokens, kHeads, kSize}, fixed = {kHeads, kSize};
    const HostTensor r = uniform(random, tokens, -1, 1), k = uniform(random, tokens, -1, 1),
                     v = uniform(random, tokens, -1, 1),
                     decay = uniform(random, by_token ? tokens : fixed, 0.5, 1),
                     first = uniform(random, fixed, -1, 1),
                     state = uniform(random, {kRows, kHeads, kSize, kSize}, -1, 1);
    std::vector<Value> args;
    for (const HostTensor& one : {r, k, v, decay, first}) {
      args.push_back(Value::tensor(op::RefTensor::from(one)));
    }
    args.push_back(int_tensor({kTexts}, slots));
    args.push_back(Value::tensor(op::RefTensor::from(state)));

    const Value result = call_scan(testing::golden_model(name).model.module,
                                   by_token ? "wkv6" : "wkv5", args, tokens);
    const op::RefTensor& out = result.as_tuple()[0].as_tensor();
    const op::RefTensor& after = result.as_tuple()[1].as_tensor();

    const auto token = [&](int64_t b, int64_t t, int64_t h) {
      return ((b * kTokens + t) * kHeads + h) * kSize;
    };
    for (int64_t i = 0; i < kSize * kSize * kHeads; ++i) {  // slot 1 is nobody's
      const int64_t at = kHeads * kSize * kSize + i;
      EXPECT_EQ(after.values[static_cast<size_t>(at)], state.at_f64(at));
    }
    for (int64_t b = 0; b < kTexts; ++b) {
      for (int64_t h = 0; h < kHeads; ++h) {
        for (int64_t j = 0; j < kSize; ++j) {
          const int64_t row = ((slots[static_cast<size_t>(b)] * kHeads + h) * kSize + j) * kSize;
          std::vector<double> s;
          for (int64_t c = 0; c < kSize; ++c) s.push_back(state.at_f64(row + c));
          for (int64_t t = 0; t < kTokens; ++t) {
            const int64_t at = token(b, t, h);
            double sum = 0;
            for (int64_t c = 0; c < kSize; ++c) {
              double& one = s[static_cast<size_t>(c)];
              const double kv = k.at_f64(at + c) * v.at_f64(at + j);
              sum += r.at_f64(at + c) * (first.at_f64(h * kSize + c) * kv + one);
              one = kv + decay.at_f64(by_token ? at + c : h * kSize + c) * one;
            }
            EXPECT_NEAR(out.values[static_cast<size_t>(at + j)], sum, 1e-5);
          }
          for (int64_t c = 0; c < kSize; ++c) {
            EXPECT_NEAR(after.values[static_cast<size_t>(row + c)], s[static_cast<size_t>(c)],
                        1e-5);
          }
        }
      }
    }
  }
}

// The same for RWKV 7, whose state is a product with a matrix of the token.
TEST(Rwkv, ScanOfSevenIsTheRecurrence) {
  constexpr int64_t kTexts = 2, kTokens = 5, kHeads = 2, kSize = 64, kRows = 3;
  const std::vector<int32_t> slots = {2, 0};
  std::mt19937 random(7);
  const Shape tokens = {kTexts, kTokens, kHeads, kSize};
  const HostTensor r = uniform(random, tokens, -1, 1), k = uniform(random, tokens, -1, 1),
                   v = uniform(random, tokens, -1, 1), decay = uniform(random, tokens, 0.5, 1),
                   keys = uniform(random, {kTexts, kTokens, kHeads, 2 * kSize}, -0.2, 0.2),
                   state = uniform(random, {kRows, kHeads, kSize, kSize}, -1, 1);
  std::vector<Value> args;
  for (const HostTensor& one : {r, k, v, decay, keys}) {
    args.push_back(Value::tensor(op::RefTensor::from(one)));
  }
  args.push_back(int_tensor({kTexts}, slots));
  args.push_back(Value::tensor(op::RefTensor::from(state)));
  const Value result = call_scan(testing::golden_model("rwkv7").model.module, "wkv7", args, tokens);
  const op::RefTensor& out = result.as_tuple()[0].as_tensor();
  const op::RefTensor& after = result.as_tuple()[1].as_tensor();
  for (int64_t i = 0; i < kSize * kSize * kHeads; ++i) {  // slot 1 is nobody's
    const int64_t at = kHeads * kSize * kSize + i;
    EXPECT_EQ(after.values[static_cast<size_t>(at)], state.at_f64(at));
  }
  for (int64_t b = 0; b < kTexts; ++b) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t j = 0; j < kSize; ++j) {
        const int64_t row = ((slots[static_cast<size_t>(b)] * kHeads + h) * kSize + j) * kSize;
        std::vector<double> s;
        for (int64_t c = 0; c < kSize; ++c) s.push_back(state.at_f64(row + c));
        for (int64_t t = 0; t < kTokens; ++t) {
          const int64_t at = ((b * kTokens + t) * kHeads + h) * kSize;
          double known = 0, sum = 0;
          for (int64_t c = 0; c < kSize; ++c) {
            known += s[static_cast<size_t>(c)] * keys.at_f64(2 * at + c);
          }
          for (int64_t c = 0; c < kSize; ++c) {
            double& one = s[static_cast<size_t>(c)];
            one = decay.at_f64(at + c) * one - known * keys.at_f64(2 * at + kSize + c) +
                  v.at_f64(at + j) * k.at_f64(at + c);
            sum += r.at_f64(at + c) * one;
          }
          EXPECT_NEAR(out.values[static_cast<size_t>(at + j)], sum, 1e-4);
        }
        for (int64_t c = 0; c < kSize; ++c) {
          EXPECT_NEAR(after.values[static_cast<size_t>(row + c)], s[static_cast<size_t>(c)], 1e-4);
        }
      }
    }
  }
}

void refused(const std::string& field, const std::string& value,
             const std::vector<std::string>& parts) {
  const std::string text =
      R"({"model_type": "rwkv6", "hidden_size": 64, ")" + field + "\": " + value + "}";
  testing::expect_user_error([&] { frontend::parse_config(text, "config.json"); }, parts);
}

TEST(RwkvConfig, RefusesWhatItCannotExpress) {
  refused("attention_hidden_size", "128", {"\"attention_hidden_size\"", "hidden_size", "64"});
  refused("head_size", "48", {"\"hidden_size\"", "a multiple of 48"});
  refused("head_size", "0", {"\"head_size\""});
  refused("head_size_divisor", "0", {"\"head_size_divisor\""});
  refused("layer_norm_epsilon", "-1", {"\"layer_norm_epsilon\""});
  refused("rescale_every", "\"six\"", {"\"rescale_every\""});
}

TEST(RwkvConfig, SevenRefusesWhatItCannotExpress) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {R"("attn": {"layers": [1], "num_heads": 2})", {"\"attn\"", "layers of attention"}},
      {R"("value_dim": [128, 64])", {"\"value_dim\"", "128 for each layer"}},
      {R"("hidden_act": "relu")", {"\"hidden_act\"", "sqrelu"}},
      {R"("head_dim": 48)", {"\"hidden_size\"", "a multiple of 48"}},
      {R"("head_dim": null, "num_heads": 3)", {"\"hidden_size\"", "a multiple of 42"}},
      {R"("num_heads": 0)", {"\"num_heads\""}},
      {R"("norm_eps": -1)", {"\"norm_eps\""}},
      {R"("gate_low_rank_dim": 0)", {"\"gate_low_rank_dim\""}},
  };
  for (const auto& [fields, parts] : cases) {
    SCOPED_TRACE(fields);
    const std::string text =
        std::string(R"({"model_type": "rwkv7", "hidden_size": 128, )") + fields + "}";
    testing::expect_user_error([&] { frontend::parse_config(text, "config.json"); }, parts);
  }
}

// Configurations of the first release have the size of a head under the name of their number.
TEST(RwkvConfig, HeadSizeHasTwoNames) {
  const auto states = [](const std::string& fields) {
    const auto config = frontend::parse_config(
        R"({"model_type": "rwkv5", "hidden_size": 128, "num_hidden_layers": 1, )" + fields + "}",
        "config.json");
    const Module module = models::build_decoder(config.model, {});
    return unwrap(model_interface_of(module.all_attrs())).state[1].shape;
  };
  EXPECT_EQ(states(R"("num_attention_heads": 32)"), (Shape{4, 32, 32}));
  EXPECT_EQ(states(R"("head_size": 16, "num_attention_heads": 32)"), (Shape{8, 16, 16}));
}

}  // namespace
}  // namespace tapml
