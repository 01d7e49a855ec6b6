// Prepared images against the published image processors, and preparations that are refused.
#include "image/preparation.h"

#include <gtest/gtest.h>

#include "image/decode.h"
#include "io/host/files.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "pictures.h"

namespace tapml::image {
namespace {

TEST(Preparation, IsLikeThePublishedProcessors) {
  const std::string path = picture("preparations.json");
  const auto json = parse_json(*read_text_file(path), path);
  ASSERT_TRUE(json);
  const auto file = map_file(picture("prepared.safetensors"));
  ASSERT_TRUE(file);
  const auto prepared_ones = parse_safetensors(file->bytes, file->owner, "prepared.safetensors");
  ASSERT_TRUE(prepared_ones);
  EXPECT_GE(prepared_ones->tensors.size(), 20U);
  for (const auto& [name, expected] : prepared_ones->tensors) {
    SCOPED_TRACE(name);
    const size_t slash = name.find('/');
    const auto preparation =
        parse_preparation(json->find(name.substr(0, slash))->dump(), "preprocessor_config.json");
    ASSERT_TRUE(preparation) << preparation.error().to_string();
    const auto image = read_image(picture(name.substr(slash + 1)));
    ASSERT_TRUE(image);
    const auto made = prepared(*image, *preparation, name);
    ASSERT_TRUE(made) << made.error().to_string();
    ASSERT_EQ(std::ssize(made->parts), expected.shape()[0]);
    ASSERT_EQ(std::ssize(made->parts), made->rows * made->columns + 1);
    const Shape shape(expected.shape().begin() + 1, expected.shape().end());
    double largest = 0;
    int64_t done = 0;
    for (const HostTensor& part : made->parts) {
      ASSERT_EQ(part.shape(), shape);
      for (int64_t i = 0; i < part.size(); ++i) {
        largest = std::max(largest, std::abs(part.at_f64(i) - expected.at_f64(done++)));
      }
    }
    EXPECT_LE(largest, 1e-5);
  }
}

TEST(Preparation, IsFoundInsideOfAProcessorsFile) {
  const auto preparation = parse_preparation(
      R"({"image_processor": {"image_processor_type": "SiglipImageProcessorFast",
          "size": {"height": 32, "width": 48}}, "processor_class": "LlavaProcessor"})",
      "processor_config.json");
  ASSERT_TRUE(preparation) << preparation.error().to_string();
  EXPECT_EQ(preparation->resize, Preparation::Resize::kExact);
  EXPECT_EQ(preparation->height, 32);
  EXPECT_EQ(preparation->width, 48);
  EXPECT_EQ(preparation->mean[1], 0.5F);
}

TEST(Preparation, NamesTheFieldThatIsNotSupported) {
  const std::pair<const char*, const char*> all[] = {
      {R"({"image_processor_type": "VivitImageProcessor"})", "image_processor_type"},
      {R"({})", "feature_extractor_type"},
      {R"({"image_processor_type": "CLIPImageProcessor", "resample": 0})", "resample"},
      {R"({"image_processor_type": "CLIPImageProcessor", "size": {"longest_edge": 9}})",
       "size.longest_edge"},
      {R"({"image_processor_type": "CLIPImageProcessor", "size": {"height": 9}})", "size.width"},
      {R"({"image_processor_type": "CLIPImageProcessor", "size": -1})", "size"},
      {R"({"image_processor_type": "CLIPImageProcessor", "image_std": [1, 1]})", "image_std"},
      {R"({"image_processor_type": "CLIPImageProcessor", "image_std": [1, 0, 1]})", "image_std"},
      {R"({"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 1e9}})",
       "crop_size.height"},
      {R"({"image_processor_type": "SiglipImageProcessor", "do_pad": true})", "do_pad"},
      {R"({"image_processor_type": "Gemma3ImageProcessor", "do_pan_and_scan": true})",
       "do_pan_and_scan"},
  };
  for (const auto& [text, field] : all) {
    const auto preparation = parse_preparation(text, "preprocessor_config.json");
    ASSERT_FALSE(preparation) << text;
    EXPECT_NE(preparation.error().to_string().find(std::string("\"") + field + "\""),
              std::string::npos)
        << preparation.error().to_string();
  }
}

TEST(Preparation, RefusesAnImageThatWouldBecomeTooLarge) {
  Preparation preparation;
  preparation.resize = Preparation::Resize::kShortestEdge;
  preparation.edge = 4096;
  const auto pixels = prepared(Image::of_size(30000, 1), preparation, "line.png");
  ASSERT_FALSE(pixels);
  EXPECT_EQ(pixels.error().where, "line.png");
  EXPECT_NE(pixels.error().to_string().find("too large"), std::string::npos);
}

TEST(Preparation, NamesTheFilesThatAFolderLacks) {
  const auto preparation = read_preparation(picture(""));
  ASSERT_FALSE(preparation);
  EXPECT_NE(preparation.error().to_string().find("preprocessor_config.json"), std::string::npos);
}

}  // namespace
}  // namespace tapml::image
