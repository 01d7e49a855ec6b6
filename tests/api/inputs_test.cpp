// Features and embeddings of the engine of the C interface.
#include <cstring>
#include <limits>

#include "api/engine_fixture.h"
#include "support/toy_decoder.h"
#include "support/toy_models.h"
#include "support/toy_package.h"

namespace tapml {
namespace {

using testing::ask;
using testing::at_most;
using testing::CAnswer;
using testing::CEngine;
using testing::expect_refused;
using testing::ToyDecoder;
using testing::ToyModel;
using Tokens = std::vector<int32_t>;

// A byte of a prompt is a token.
std::string text_of(const Tokens& tokens) { return {tokens.begin(), tokens.end()}; }

tapml_tensor view_of(const HostTensor& tensor) {
  return {static_cast<tapml_dtype>(tensor.dtype()), static_cast<int32_t>(tensor.shape().size()),
          tensor.shape().data(), tensor.bytes().data()};
}

tapml_status set_features(const CEngine& engine, const HostTensor& features) {
  const tapml_tensor view = view_of(features);
  return tapml_engine_set_features(engine.get(), &view);
}

tapml_status place(const CEngine& engine, const HostTensor& rows, int64_t position) {
  const tapml_tensor view = view_of(rows);
  return tapml_engine_place_embeddings(engine.get(), &view, position);
}

class EngineInputs : public ::testing::Test {
 protected:
  static const ToyDecoder& decoder() {
    static const ToyDecoder model = testing::toy_decoder(41, 0, true);
    return model;
  }
  static const ToyModel& encoder() {
    static const ToyModel model = testing::toy_encoder_decoder(42);
    return model;
  }
  template <class Model>
  static const std::string& package(const Model& model) {
    static const testing::TempFolder folder;
    static const std::string path =
        testing::write_toy_package(folder.path(), model.module, model.weights);
    return path;
  }

  const Tokens prompt_ = {3, 1, 4, 1, 5};
};

TEST_F(EngineInputs, FeaturesAreReadForEachConversation) {
  CEngine engine("cpu", package(encoder()));
  ASSERT_NE(engine.get(), nullptr) << tapml_last_error();
  EXPECT_EQ(tapml_engine_reads_features(engine.get()), 1);
  EXPECT_EQ(tapml_engine_takes_embeddings(engine.get()), 0);
  CAnswer without;
  without.ask(engine.get(), text_of(prompt_), at_most(4));
  expect_refused(without.status, {"needs features"});
  std::vector<Tokens> answers;
  for (const unsigned seed : {1U, 2U}) {
    HostTensor features = testing::toy_features(seed);
    ASSERT_EQ(set_features(engine, features), TAPML_OK) << tapml_last_error();
    EXPECT_EQ(engine.length(), 0);
    const Tokens expected = encoder().greedy(prompt_, 6, features);
    features.set_f64(0, 1e6);  // they were copied
    for (int i = 0; i < 2; ++i) {
      ask(engine.get(), text_of(prompt_), 6);
      EXPECT_EQ(engine.tokens(), expected);
      tapml_engine_reset(engine.get());
    }
    answers.push_back(expected);
  }
  EXPECT_NE(answers[0], answers[1]) << "the features make no difference";

  ask(engine.get(), text_of(prompt_), 3);
  const int64_t before = engine.length();
  expect_refused(set_features(engine, HostTensor::zeros(DType::kF32, {5, 8})),
                 {"features do not fit the model's encoder", "f32[5, 7]", "f32[5, 8]"});
  expect_refused(set_features(engine, HostTensor::zeros(DType::kF64, {5, 7})), {"f64[5, 7]"});
  expect_refused(set_features(engine, HostTensor::zeros(DType::kF32, {1, 5, 7})), {"[1, 5, 7]"});
  EXPECT_EQ(engine.length(), before);
  expect_refused(place(engine, HostTensor::zeros(DType::kF32, {1, 12}), 20),
                 {"takes no embeddings"});
}

// Two images in a first prompt, and another one in the second.
TEST_F(EngineInputs, EmbeddingsTakeThePlaceOfTokens) {
  CEngine engine("cpu", package(decoder()));
  ASSERT_NE(engine.get(), nullptr) << tapml_last_error();
  EXPECT_EQ(tapml_engine_reads_features(engine.get()), 0);
  EXPECT_EQ(tapml_engine_takes_embeddings(engine.get()), 1);
  const HostTensor first = testing::toy_embeddings(1, {0, 1}).rows,
                   second = testing::toy_embeddings(2, {0}).rows,
                   third = testing::toy_embeddings(3, {0, 1, 2}).rows;
  llm::PlacedEmbeddings placed;
  placed.place(first, 0);
  placed.place(second, 4);
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(place(engine, first, 0), TAPML_OK) << tapml_last_error();
    ASSERT_EQ(place(engine, second, 4), TAPML_OK) << tapml_last_error();
    ask(engine.get(), text_of(prompt_), 4);
    const Tokens answer = engine.tokens();
    EXPECT_EQ(answer, decoder().greedy(prompt_, 4, placed));
    EXPECT_NE(answer, decoder().greedy(prompt_, 4)) << "the embeddings make no difference";

    Tokens all = prompt_;
    all.insert(all.end(), answer.begin(), answer.end());
    ASSERT_EQ(engine.length(), std::ssize(all));
    expect_refused(place(engine, third, engine.length() - 1), {"last answer's last token"});
    expect_refused(place(engine, third, 3), {"not in the rest of the text", "from position 3"});
    ASSERT_EQ(place(engine, third, engine.length() + 1), TAPML_OK) << tapml_last_error();
    const Tokens more = {8, 0, 0, 0};
    all.insert(all.end(), more.begin(), more.end());
    llm::PlacedEmbeddings later = placed;
    later.place(third, engine.length() + 1);
    ask(engine.get(), text_of(more), 4);
    EXPECT_EQ(engine.tokens(), decoder().greedy(all, 4, later));
    tapml_engine_reset(engine.get());
  }
  // A new conversation has none.
  ask(engine.get(), text_of(prompt_), 4);
  EXPECT_EQ(engine.tokens(), decoder().greedy(prompt_, 4));
}

TEST_F(EngineInputs, EmbeddingsThatDoNotFitChangeNothing) {
  CEngine engine("cpu", package(decoder()));
  ASSERT_NE(engine.get(), nullptr) << tapml_last_error();
  const HostTensor rows = testing::toy_embeddings(1, {0, 1}).rows;
  expect_refused(place(engine, HostTensor::zeros(DType::kF32, {2, 11}), 0),
                 {"embeddings do not fit the model", "f32[m, 12]", "f32[2, 11]"});
  expect_refused(place(engine, HostTensor::zeros(DType::kF32, {1, 2, 12}), 0), {"f32[1, 2, 12]"});
  expect_refused(place(engine, HostTensor::zeros(DType::kF32, {0, 12}), 0), {"f32[0, 12]"});
  expect_refused(place(engine, HostTensor::zeros(DType::kBF16, {2, 12}), 0), {"bf16[2, 12]"});
  for (const int64_t position : {int64_t{-1}, ToyDecoder::kContext - 1, INT64_MAX, INT64_MIN}) {
    expect_refused(place(engine, rows, position),
                   {"not in the rest of the text", "from 0 to 95", std::to_string(position)});
  }
  ASSERT_EQ(place(engine, rows, 3), TAPML_OK) << tapml_last_error();
  expect_refused(place(engine, rows, 4), {"two embeddings have the same position", "position 4"});
  expect_refused(set_features(engine, testing::toy_features(1)), {"reads no features"});

  // The prompt needs a token for each row; the refused one changes nothing.
  CAnswer answer;
  answer.ask(engine.get(), text_of({3, 1, 4, 1}), at_most(2));
  expect_refused(answer.status, {"the prompt ends before an embedding's position", "from 0 to 3",
                                 "position 4", "a token for each embedding"});
  EXPECT_EQ(engine.length(), 0);
  ask(engine.get(), text_of({3, 1, 4, 1}), 0);  // more of the prompt follows
  ask(engine.get(), text_of({5}), 2);
  llm::PlacedEmbeddings placed;
  placed.place(rows, 3);
  EXPECT_EQ(engine.tokens(), decoder().greedy(prompt_, 2, placed));
}

TEST_F(EngineInputs, AreNotChangedWhileTheEngineGenerates) {
  CEngine engine("cpu", package(decoder()));
  ASSERT_NE(engine.get(), nullptr) << tapml_last_error();
  const auto places = [](void* user, const char*, size_t) -> int32_t {
    const HostTensor rows = HostTensor::zeros(DType::kF32, {1, 12});
    expect_refused(place(*static_cast<CEngine*>(user), rows, 50), {"the engine is generating"});
    return 0;
  };
  const std::string prompt = text_of(prompt_);
  const tapml_generate_options options = at_most(2);
  EXPECT_EQ(tapml_engine_generate(engine.get(), prompt.data(), prompt.size(), &options, places,
                                  &engine, nullptr),
            TAPML_OK)
      << tapml_last_error();
}

TEST_F(EngineInputs, RejectMalformedTensors) {
  CEngine engine("cpu", package(decoder()));
  ASSERT_NE(engine.get(), nullptr) << tapml_last_error();
  const HostTensor rows = HostTensor::zeros(DType::kF32, {1, 12});
  tapml_tensor view = view_of(rows);
  expect_refused(tapml_engine_place_embeddings(nullptr, &view, 0), {"null"});
  expect_refused(tapml_engine_place_embeddings(engine.get(), nullptr, 0), {"null"});
  expect_refused(tapml_engine_set_features(nullptr, &view), {"null"});
  expect_refused(tapml_engine_set_features(engine.get(), nullptr), {"null"});
  EXPECT_EQ(tapml_engine_reads_features(nullptr), 0);
  EXPECT_EQ(tapml_engine_takes_embeddings(nullptr), 0);
  view.data = nullptr;
  expect_refused(tapml_engine_place_embeddings(engine.get(), &view, 0), {"the data is null"});
  view = view_of(rows);
  const int none = 99;
  std::memcpy(&view.dtype, &none, sizeof none);
  expect_refused(tapml_engine_place_embeddings(engine.get(), &view, 0), {"no such dtype"});
}

}  // namespace
}  // namespace tapml
