// Logits of texts with images against PyTorch's: in the reference evaluator, and compiled.
#include <gtest/gtest.h>

#include "llm/engine.h"
#include "models/interpreted_text.h"
#include "pipeline/compile.h"
#include "support/sessions.h"

namespace tapml {
namespace {

using testing::GoldenModel;
using testing::image_golden_models;
using testing::largest_difference;
using testing::logit_tolerance;

// The images of a golden text: pixels [1, channels, height, width], and the first position.
std::vector<std::pair<HostTensor, int64_t>> images_of(const GoldenModel& golden) {
  const HostTensor& all = golden.reference.at("pixels");
  const auto positions = golden.reference.at("positions").values<int32_t>();
  std::vector<std::pair<HostTensor, int64_t>> images;
  Shape shape = all.shape();
  shape[0] = 1;
  const auto size = static_cast<size_t>(element_count(shape));
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto values = all.values<float>().subspan(i * size, size);
    images.emplace_back(HostTensor::from(DType::kF32, shape, values), positions[i]);
  }
  return images;
}

HostTensor logits_with_images(const GoldenModel& golden) {
  InterpretedText text(golden, 4);
  for (const auto& [pixels, position] : images_of(golden)) text.place_image(pixels, position);
  return text.call("logits_all", golden.reference.at("tokens").values<int32_t>());
}

class ImageLogits : public ::testing::TestWithParam<std::string> {
 protected:
  const GoldenModel golden_ = testing::golden_model(GetParam(), "images");
  const HostTensor& expected_ = golden_.reference.at("logits");
  std::span<const int32_t> tokens_ = golden_.reference.at("tokens").values<int32_t>();
  double tolerance_ = logit_tolerance(expected_);
};

TEST_P(ImageLogits, AreThoseOfTheReferenceEvaluator) {
  EXPECT_LE(largest_difference(logits_with_images(golden_), expected_), tolerance_);
}

// At once, and in pieces that do not split an image, then token by token.
TEST_P(ImageLogits, AreThoseOfCompiledCode) {
  for (const char* platform : {"cpu", "opencl"}) {
    // Compiling for it takes long; the operators of all models are the same.
    if (std::string_view(platform) == "opencl" && GetParam() != "smolvlm") continue;
    SCOPED_TRACE(platform);
    const auto session = testing::open_session(platform);
    ASSERT_TRUE(session);
    const auto executable = pipeline::compile(golden_.model.module, target::parse_target(platform));
    const auto engine = unwrap(
        llm::Engine::create(*session, executable, golden_.model.weights, {.prefill_chunk = 4}));
    ASSERT_TRUE(engine->reads_images());
    const auto place = [&] {
      unwrap(engine->set_embeddings({}));
      for (const auto& [pixels, position] : images_of(golden_)) {
        Shape shape(pixels.shape().begin() + 1, pixels.shape().end());
        unwrap(engine->place_image({pixels.reshaped(shape), position}));
      }
    };
    place();
    EXPECT_LE(largest_difference(unwrap(engine->logits_all(tokens_)), expected_), tolerance_);
    place();
    const int64_t width = golden_.interface().vocabulary;
    const size_t prompt = tokens_.size() - 5;
    const auto check = [&](const runtime::Tensor& logits) {
      const int64_t row = engine->length() - 1;
      const HostTensor host = unwrap(runtime::download(logits));
      EXPECT_LE(largest_difference(host, expected_, row * width), tolerance_) << "token " << row;
    };
    check(unwrap(engine->prefill(tokens_.first(prompt))));
    for (const int32_t token : tokens_.subspan(prompt)) check(unwrap(engine->decode(token)));
    // Texts of other lengths with the same images, together and alone.
    const std::vector<std::vector<int32_t>> prompts = {{tokens_.begin(), tokens_.end()},
                                                       {tokens_.begin(), tokens_.end() - 2},
                                                       {tokens_.begin(), tokens_.end() - 4}};
    const llm::GenerateOptions options{.max_tokens = 4, .eos = {}, .sampler = {}};
    place();
    const auto together = unwrap(engine->generate_batch(prompts, options));
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(together[i].tokens, unwrap(engine->generate(prompts[i], options)).tokens) << i;
    }
    // Without images the same tokens are text.
    unwrap(engine->set_embeddings({}));
    EXPECT_GT(largest_difference(unwrap(engine->logits_all(tokens_)), expected_), 100 * tolerance_);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ImageLogits, ::testing::ValuesIn(image_golden_models()),
                         [](const auto& info) { return info.param; });

// A configuration with another value at `path` ("vision_config.hidden_act").
Json with(const Json& config, std::string_view path, const Json& value) {
  const size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  std::vector<std::pair<std::string, Json>> members;
  bool found = false;
  for (const auto& [name, old] : config.members()) {
    found |= name == key;
    const bool inner = name == key && dot != path.npos;
    members.emplace_back(name, inner         ? with(old, path.substr(dot + 1), value)
                               : name == key ? value
                                             : old);
  }
  if (!found) members.emplace_back(std::string(key), value);
  return Json::object(std::move(members));
}

Json numbers(const std::vector<int64_t>& values) {
  std::vector<Json> items;
  for (const int64_t value : values) items.push_back(Json::integer(value));
  return Json::array(std::move(items));
}

// A switch that the reader ignores, or whose effect the weights hide, would be found here.
TEST(ImageSwitches, EachChangesTheLogits) {
  struct Switch {
    const char *model, *path;
    Json value;
  };
  const Switch all[] = {
      {"llava", "vision_feature_layer", Json::integer(-1)},
      {"llava", "vision_config.hidden_act", Json::string("gelu")},
      {"llava", "vision_config.layer_norm_eps", Json::number(0.02)},
      {"llava", "projector_hidden_act", Json::string("relu")},
      {"llava", "multimodal_projector_bias", Json::boolean(false)},
      {"llava_full", "vision_feature_layer", Json::integer(2)},
      {"llava_siglip", "vision_feature_layer", Json::integer(-2)},
      {"llava_siglip", "vision_config.hidden_act", Json::string("quick_gelu")},
      {"gemma3", "vision_config.layer_norm_eps", Json::number(0.02)},
      {"gemma3", "text_config.sliding_window", Json::integer(9)},
      {"gemma3_full", "vision_config.hidden_act", Json::string("quick_gelu")},
      {"qwen3_vl", "vision_config.hidden_act", Json::string("relu")},
      {"qwen3_vl", "vision_config.deepstack_visual_indexes", numbers({0, 1})},
      {"qwen3_vl", "vision_config.rope_parameters",
       Json::object({{"rope_theta", Json::number(100)}})},
      {"qwen3_vl", "text_config.rope_scaling.mrope_section", numbers({4, 1, 2})},
      {"qwen3_vl", "text_config.rope_scaling.mrope_section", numbers({4, 2, 1})},
      {"qwen3_vl_plain", "vision_config.deepstack_visual_indexes", numbers({0})},
  };
  for (const Switch& one : all) {
    SCOPED_TRACE(one.path);
    GoldenModel golden = testing::golden_model(one.model, "images");
    const HostTensor expected = golden.reference.at("logits");
    const std::string path =
        testing::golden_path(std::string("images/") + one.model + "/config.json");
    const Json config = unwrap(parse_json(unwrap(read_text_file(path)), path));
    golden.model.config =
        frontend::parse_config(with(config, one.path, one.value).dump(), "config.json");
    golden.model.module = models::build_decoder(golden.model.config.model, {});
    testing::add_random_weights(golden);
    EXPECT_GE(largest_difference(logits_with_images(golden), expected),
              10 * logit_tolerance(expected));
  }
}

// Of images of several rows, with and without a window that is shorter.
TEST(ImageSwitches, TokensOfAnImageSeeEachOther) {
  for (const char* name : {"gemma3", "gemma3_full"}) {
    SCOPED_TRACE(name);
    GoldenModel golden = testing::golden_model(name, "images");
    const HostTensor& expected = golden.reference.at("logits");
    golden.model.config.model.images->both_ways = false;
    golden.model.module = models::build_decoder(golden.model.config.model, {});
    EXPECT_GE(largest_difference(logits_with_images(golden), expected),
              10 * logit_tolerance(expected));
  }
}

// Positions of an image's rows and columns, and of what follows an image.
TEST(ImageSwitches, ImagesHavePositionsInTwoDirections) {
  GoldenModel golden = testing::golden_model("qwen3_vl", "images");
  const HostTensor& expected = golden.reference.at("logits");
  golden.model.config.model.images->grid = 0;
  golden.model.module = models::build_decoder(golden.model.config.model, {});
  EXPECT_GE(largest_difference(logits_with_images(golden), expected),
            10 * logit_tolerance(expected));
}

}  // namespace
}  // namespace tapml
