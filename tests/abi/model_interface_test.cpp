#include "abi/model_interface.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tapml {
namespace {

ModelInterface every_kind() {
  ModelInterface model;
  model.architecture = "a";
  model.vocabulary = 7;
  model.context = 9;
  model.page_size = 4;
  model.short_text = 6;
  model.state = {{.name = "k_pool.0", .dtype = DType::kF16, .shape = {2, 8}},
                 {.name = "v", .shape = {2, 8}, .window = 4096},
                 {.name = "conv", .kind = StateKind::kRecurrent, .shape = {}},
                 {.name = "cross", .kind = StateKind::kFixed, .dtype = DType::kBF16, .shape = {5}}};
  model.functions = {
      {"prefill",
       {Role::kTokens, Role::kPositions, Role::kPageTable, Role::kLengths, Role::kTextLengths,
        Role::kSlots, Role::kEmbeddings, Role::kPlacement},
       {Role::kLogits},
       {StateKind::kPaged, StateKind::kRecurrent, StateKind::kFixed},
       true},
      {"encode", {Role::kFeatures, Role::kFeatureLengths}, {}, {StateKind::kFixed}, true},
      {"sample",
       {Role::kLogits, Role::kParameters, Role::kGenerator},
       {Role::kTokens, Role::kGenerator},
       {},
       false},
      {"both", {}, {}, {StateKind::kPaged, StateKind::kFixed}, false},
      {"embed_image", {Role::kPixels}, {Role::kEmbeddings}, {}, true}};
  model.weights = {"w"};
  model.image = {96, 4, "<image>", "(", ")", "{row}", ";", "!"};
  return model;
}

TEST(ModelInterface, RoundTripsThroughAttributes) {
  const ModelInterface model = every_kind();
  const AttrMap attrs = model_interface_attrs(model);
  EXPECT_EQ(std::get<std::vector<std::string>>(attrs.at("model.state")),
            (std::vector<std::string>{"k_pool.0: paged f16[2, 8]", "v: paged f32[2, 8] window 4096",
                                      "conv: recurrent f32[]", "cross: fixed bf16[5]"}));
  EXPECT_EQ(
      std::get<std::vector<std::string>>(attrs.at("model.functions")),
      (std::vector<std::string>{
          "prefill(tokens, positions, page_table, lengths, text_lengths, slots, embeddings, "
          "placement, state, weights) -> (logits, state)",
          "encode(features, feature_lengths, fixed, weights) -> (fixed)",
          "sample(logits, parameters, generator) -> (tokens, generator)",
          "both(paged, fixed) -> (paged, fixed)", "embed_image(pixels, weights) -> (embeddings)"}));
  const Result<ModelInterface> back = model_interface_of(attrs);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_TRUE(*back == model);
  EXPECT_TRUE(*model_interface_of({}) == ModelInterface());
}

TEST(ModelInterface, TheWidestWindowCountsIfAllPagedStateHasOne) {
  ModelInterface model = every_kind();
  EXPECT_EQ(model.paged_window(), 0);
  model.state[0].window = 5000;
  EXPECT_EQ(model.paged_window(), 5000);
  model.state[0].window = 8;
  EXPECT_EQ(model.paged_window(), 4096);
  model.state.erase(model.state.begin(), model.state.begin() + 2);
  EXPECT_EQ(model.paged_window(), 0) << "no paged state";
}

TEST(ModelInterface, IsAskedByName) {
  const ModelInterface model = every_kind();
  ASSERT_TRUE(model.find_function("encode"));
  EXPECT_TRUE(model.find_function("encode")->takes(StateKind::kFixed));
  EXPECT_FALSE(model.find_function("encode")->takes(StateKind::kPaged));
  EXPECT_FALSE(model.find_function("draw"));
  EXPECT_TRUE(model.has_state(StateKind::kRecurrent));
  EXPECT_FALSE(ModelInterface().has_state(StateKind::kPaged));
}

TEST(ModelInterface, RefusesStateThatItCannotRead) {
  for (const char* text :
       {"", "k", "k: paged", "k: paged f32", "k: pooled f32[2]", "k: paged f31[2]",
        "k: paged f32[2", "k: paged f32[-2]", "k: paged f32[2,]", "k: paged f32[2] window 0",
        "k: paged f32[2] window", "k: recurrent f32[2] window 3", "k: paged f32[2] more",
        ": paged f32[2]", "k: paged f32[99999999999999999999]"}) {
    const Result<StateTensor> state = parse_state(text);
    ASSERT_FALSE(state) << text;
    EXPECT_EQ(state.error().kind, ErrorKind::kUser);
    testing::expect_parts(state.error(),
                          {"model state cannot be parsed", "NAME: paged|recurrent|fixed"});
  }
}

TEST(ModelInterface, RefusesFunctionsThatItCannotRead) {
  for (const char* text :
       {"", "f", "f()", "f() ->", "f() -> (", "() -> ()", "f(tokens) => ()", "f(token) -> ()",
        "f(tokens,) -> ()", "f(state) -> ()", "f() -> (state)", "f(paged) -> (fixed)",
        "f(fixed, paged) -> (fixed, paged)", "f(paged, paged) -> (paged, paged)",
        "f(state, tokens) -> (state)", "f(weights, tokens) -> ()", "f(weights, weights) -> ()",
        "f() -> (weights)", "f() -> () more"}) {
    const Result<ModelFunction> function = parse_model_function(text);
    ASSERT_FALSE(function) << text;
    EXPECT_EQ(function.error().kind, ErrorKind::kUser);
    testing::expect_parts(function.error(), {"model functions cannot be parsed", "page_table"});
  }
  AttrMap attrs = model_interface_attrs(every_kind());
  attrs["model.functions"] = std::vector<std::string>{"prefill(tokens"};
  EXPECT_FALSE(model_interface_of(attrs));
}

}  // namespace
}  // namespace tapml
