// Reads preparations from the files of published feature extractors.
#include <array>

#include "audio/fourier.h"
#include "audio/preparation.h"
#include "io/host/processor_config.h"
#include "io/json_reader.h"

namespace tapml::audio {

namespace {

constexpr const char *kInWholeFile = "feature_extractor", *kClass = "feature_extractor_type";
// Far above every existing model.
constexpr int64_t kMaxBands = 4096, kMaxRate = 1 << 20, kMaxSeconds = 3600, kMaxWindow = 8192;
constexpr int64_t kMaxFeatures = int64_t{1} << 26;
constexpr size_t kMaxFactor = 64;

Result<Preparation> read(const JsonObjectReader& json) {
  static constexpr std::array<std::string_view, 1> kClasses = {"WhisperFeatureExtractor"};
  TAPML_ASSIGN([[maybe_unused]] const std::string name, json.required_choice(kClass, kClasses));
  Preparation p;
  TAPML_ASSIGN(p.bands, json.int_or("feature_size", p.bands, 1, kMaxBands));
  TAPML_ASSIGN(p.rate, json.int_or("sampling_rate", p.rate, 2, kMaxRate));
  TAPML_ASSIGN(p.hop, json.int_or("hop_length", p.hop, 1, kMaxRate));
  TAPML_ASSIGN(p.window, json.int_or("n_fft", p.window, 2, kMaxWindow));
  TAPML_ASSIGN(p.seconds, json.int_or("chunk_length", p.seconds, 1, kMaxSeconds));
  TAPML_ASSIGN(const double padding, json.float_or("padding_value", 0, -1, 1));
  p.padding = static_cast<float>(padding);
  TAPML_ASSIGN(const double dither, json.float_or("dither", 0));
  if (dither != 0) {
    return fail(json.field_error("dither", "is not 0: random noise is not supported", "0"));
  }
  if (largest_factor(static_cast<size_t>(p.window)) > kMaxFactor) {
    return fail(json.field_error("n_fft", "has a large prime factor",
                                 "a product of primes up to " + std::to_string(kMaxFactor)));
  }
  if (p.samples() <= p.window / 2 || p.frames() < 1) {
    return fail(json.field_error("chunk_length", "is shorter than a frame", "a longer time"));
  }
  if (p.samples() > kMaxFeatures || p.frames() > kMaxFeatures / p.bands) {
    return fail(json.field_error("chunk_length", "is too long", "fewer samples and frames"));
  }
  return p;
}

}  // namespace

Result<Preparation> parse_preparation(std::string_view text, const std::string& source) {
  TAPML_ASSIGN(const Json json, parse_json(text, source));
  const JsonObjectReader whole(json, source);
  TAPML_TRY(whole.check_object());
  TAPML_ASSIGN(const auto inner, whole.optional_object(kInWholeFile));
  return read(inner ? *inner : whole);
}

Result<Preparation> read_preparation(const std::string& folder) {
  TAPML_ASSIGN(const ProcessorConfig config, read_processor_config(folder, "sound is"));
  return parse_preparation(config.text, config.path);
}

}  // namespace tapml::audio
