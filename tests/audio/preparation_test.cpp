// Prepared sound against the published feature extractor, and preparations that are refused.
#include "audio/preparation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audio/decode.h"
#include "audio/fourier.h"
#include "audio/resample.h"
#include "io/host/files.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "sounds.h"

namespace tapml::audio {
namespace {

TEST(Preparation, IsLikeThePublishedExtractor) {
  const std::string path = sound("extractors.json");
  const auto json = parse_json(*read_text_file(path), path);
  ASSERT_TRUE(json);
  const auto file = map_file(sound("features.safetensors"));
  ASSERT_TRUE(file);
  const auto all = parse_safetensors(file->bytes, file->owner, "features.safetensors");
  ASSERT_TRUE(all);
  EXPECT_GE(all->tensors.size(), 4U);
  for (const auto& [name, expected] : all->tensors) {
    SCOPED_TRACE(name);
    const size_t slash = name.find('/');
    const auto preparation =
        parse_preparation(json->find(name.substr(0, slash))->dump(), "preprocessor_config.json");
    ASSERT_TRUE(preparation) << preparation.error().to_string();
    const auto read = read_sound(sound(name.substr(slash + 1)), 30);
    ASSERT_TRUE(read);
    const auto made = prepared(*read, *preparation, name);
    ASSERT_TRUE(made) << made.error().to_string();
    ASSERT_EQ(made->shape(), expected.shape());
    double largest = 0;
    for (int64_t i = 0; i < made->size(); ++i) {
      largest = std::max(largest, std::abs(made->at_f64(i) - expected.at_f64(i)));
    }
    EXPECT_LE(largest, 1e-3);
  }
}

TEST(Preparation, OfSilenceIsTheLeastValue) {
  const Preparation p;
  const auto made = prepared({p.rate, {0, 0, 0}}, p, "silence");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->shape(), (Shape{80, 3000}));
  // log10 of the least power is -10.
  for (int64_t i = 0; i < made->size(); i += 7919) EXPECT_EQ(made->at_f64(i), -1.5);
}

TEST(Preparation, ThatIsTooLongIsRefused) {
  const Preparation p = {.seconds = 1};
  const Sound sound = {p.rate, std::vector<float>(16001)};
  const auto made = prepared(sound, p, "a.wav");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().to_string().find("16001"), std::string::npos);
}

TEST(Preparation, IsFoundInsideOfAProcessorsFile) {
  const auto preparation = parse_preparation(
      R"({"feature_extractor": {"feature_extractor_type": "WhisperFeatureExtractor",
          "feature_size": 128}, "processor_class": "WhisperProcessor"})",
      "processor_config.json");
  ASSERT_TRUE(preparation) << preparation.error().to_string();
  EXPECT_EQ(preparation->bands, 128);
  EXPECT_EQ(preparation->frames(), 3000);
}

TEST(Preparation, NamesTheFieldThatIsNotSupported) {
  const std::pair<const char*, const char*> all[] = {
      {R"({})", "feature_extractor_type"},
      {R"({"feature_extractor_type": "Wav2Vec2FeatureExtractor"})", "feature_extractor_type"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 0})",
       "feature_size"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "hop_length": "160"})",
       "hop_length"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "n_fft": 8191})", "n_fft"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "n_fft": 100000})", "n_fft"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "dither": 0.1})", "dither"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "padding_value": 1e30})",
       "padding_value"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "chunk_length": 0})",
       "chunk_length"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "sampling_rate": 2})",
       "chunk_length"},
      {R"({"feature_extractor_type": "WhisperFeatureExtractor", "chunk_length": 3600,
           "hop_length": 1})",
       "chunk_length"},
  };
  for (const auto& [text, field] : all) {
    const auto preparation = parse_preparation(text, "preprocessor_config.json");
    ASSERT_FALSE(preparation) << text;
    EXPECT_NE(preparation.error().to_string().find(std::string("\"") + field + "\""),
              std::string::npos)
        << preparation.error().to_string();
  }
}

TEST(Fourier, IsTheDefinition) {
  for (const size_t length : {1, 2, 3, 4, 12, 35, 64, 400}) {
    SCOPED_TRACE(length);
    std::vector<double> values;
    for (size_t i = 0; i < length; ++i) values.push_back(std::cos(static_cast<double>(i * i)));
    std::vector<double> squares(length / 2 + 1);
    Fourier(length).power(values, squares);
    for (size_t k = 0; k < squares.size(); ++k) {
      double real = 0, imaginary = 0;
      for (size_t i = 0; i < length; ++i) {
        const double angle =
            2 * M_PI * static_cast<double>(i * k % length) / static_cast<double>(length);
        real += values[i] * std::cos(angle);
        imaginary -= values[i] * std::sin(angle);
      }
      EXPECT_NEAR(squares[k], real * real + imaginary * imaginary, 1e-9) << k;
    }
  }
  EXPECT_EQ(largest_factor(400), 5U);
  EXPECT_EQ(largest_factor(8191), 8191U);
  EXPECT_EQ(largest_factor(1), 1U);
}

// A tone below half the new rate stays, one above it goes.
TEST(Resample, KeepsWhatTheRateCanHave) {
  for (const double hz : {440.0, 5000.0, 11000.0}) {
    SCOPED_TRACE(hz);
    Sound tone = {44100, {}};
    for (int i = 0; i < 22050; ++i) {
      tone.samples.push_back(static_cast<float>(0.5 * std::sin(2 * M_PI * hz * i / 44100)));
    }
    const auto made = resampled(tone, 16000, "tone");
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_EQ(made->rate, 16000);
    EXPECT_EQ(made->samples.size(), 8000U);
    for (int i = 1000; i < 7000; ++i) {
      const double expected = hz < 8000 ? 0.5 * std::sin(2 * M_PI * hz * i / 16000) : 0;
      ASSERT_NEAR(static_cast<double>(made->samples[static_cast<size_t>(i)]), expected, 1e-3) << i;
    }
  }
  EXPECT_FALSE(resampled({1, {0}}, 16000, "slow"));
}

}  // namespace
}  // namespace tapml::audio
