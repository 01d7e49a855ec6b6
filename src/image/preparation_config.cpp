// Reads preparations from the files of published image processors.
#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "image/preparation.h"
#include "io/host/processor_config.h"
#include "io/json_reader.h"

namespace tapml::image {

namespace {

using Resize = Preparation::Resize;

constexpr const char* kInWholeFile = "image_processor";
constexpr int64_t kMaxSide = 16384;

constexpr std::array<float, 3> kClipMean = {0.48145466F, 0.4578275F, 0.40821073F};
constexpr std::array<float, 3> kClipDeviation = {0.26862954F, 0.26130258F, 0.27577711F};
constexpr std::array<float, 3> kHalves = {0.5F, 0.5F, 0.5F};

// A class of transformers, without "Fast" at the end of its name, which says how it computes.
struct Processor {
  std::string_view name;
  int64_t edge;        // of an image after resizing
  bool keeps_shape;    // a size of one number is that of the shorter edge
  bool crops;          // to a square of that edge
  bool can_be_padded;  // "do_pad" puts the image into a square
  std::array<float, 3> mean, deviation;
  // Side of tiles, into which large images are cut; 0: none are. The size is then that of the
  // longest edge, and "do_pad", which makes images of one size, has no effect.
  int64_t tile = 0;
  int64_t filter = 3;  // Pillow's number
  // The published size is near the image's own; tapml's is that of the model, whatever "size" says.
  bool to_model = false;
};
constexpr std::array kProcessors = {
    Processor{"CLIPImageProcessor", 224, true, true, false, kClipMean, kClipDeviation},
    Processor{"LlavaImageProcessor", 224, true, true, true, kClipMean, kClipDeviation},
    Processor{"SiglipImageProcessor", 224, false, false, false, kHalves, kHalves},
    Processor{"Gemma3ImageProcessor", 224, false, false, false, kHalves, kHalves, 0, 2},
    Processor{"Qwen2VLImageProcessor", 0, false, false, false, kClipMean, kClipDeviation, 0, 3,
              true},
    Processor{"Idefics3ImageProcessor", 1456, true, false, false, kHalves, kHalves, 364, 1},
    Processor{"SmolVLMImageProcessor", 1456, true, false, false, kHalves, kHalves, 364, 1},
};

Result<const Processor*> find_processor(const JsonObjectReader& json) {
  // Before transformers 4.26 "CLIPFeatureExtractor".
  const char* key =
      json.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
  TAPML_ASSIGN(std::string name, json.required_string(key));
  for (const std::string_view end : {"Fast", "Pil"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  constexpr std::string_view kOld = "FeatureExtractor";
  if (name.ends_with(kOld)) name.replace(name.size() - kOld.size(), kOld.size(), "ImageProcessor");
  const auto found = std::ranges::find(kProcessors, name, &Processor::name);
  if (found != kProcessors.end()) return &*found;
  std::vector<std::string_view> known;
  for (const Processor& one : kProcessors) known.push_back(one.name);
  return fail(
      json.field_error(key, "is an image processor that is not supported", join_choices(known)));
}

// Sets width and height of "height" and "width", or both of a single number.
Status read_rectangle(const JsonObjectReader& json, const char* key, int64_t& height,
                      int64_t& width) {
  const Json* field = json.find(key);
  if (field->is_integer()) {
    TAPML_ASSIGN(height, json.required_int(key, 1, kMaxSide));
    width = height;
    return {};
  }
  TAPML_ASSIGN(const JsonObjectReader size, json.required_object(key));
  TAPML_ASSIGN(height, size.required_int("height", 1, kMaxSide));
  TAPML_ASSIGN(width, size.required_int("width", 1, kMaxSide));
  return {};
}

Status read_size(const JsonObjectReader& json, const Processor& processor, Preparation& p) {
  const char* key = "size";
  const Json* field = json.find(key);
  if (processor.to_model) {
    p.resize = Resize::kToModel;
    return {};
  }
  p.resize = processor.tile > 0      ? Resize::kLongestEdge
             : processor.keeps_shape ? Resize::kShortestEdge
                                     : Resize::kExact;
  p.edge = p.height = p.width = processor.edge;
  if (!field) return {};
  if (processor.tile > 0 && field->is_object()) {
    TAPML_ASSIGN(const JsonObjectReader size, json.required_object(key));
    TAPML_ASSIGN(p.edge, size.required_int("longest_edge", 1, kMaxSide));
    return {};
  }
  if (field->is_integer() && processor.keeps_shape) {
    TAPML_ASSIGN(p.edge, json.required_int(key, 1, kMaxSide));
    return {};
  }
  if (field->is_object()) {
    TAPML_ASSIGN(const JsonObjectReader size, json.required_object(key));
    if (size.has("longest_edge")) {
      return fail(size.field_error("longest_edge", "is not supported for this processor",
                                   "\"shortest_edge\", or \"height\" and \"width\""));
    }
    if (size.has("shortest_edge")) {
      TAPML_ASSIGN(p.edge, size.required_int("shortest_edge", 1, kMaxSide));
      p.resize = Resize::kShortestEdge;
      return {};
    }
  }
  p.resize = Resize::kExact;
  return read_rectangle(json, key, p.height, p.width);
}

Status read_tiles(const JsonObjectReader& json, const Processor& processor, Preparation& p) {
  if (processor.tile == 0) return {};
  p.tile = processor.tile;
  TAPML_ASSIGN(const auto size, json.optional_object("max_image_size"));
  if (size) {
    TAPML_ASSIGN(p.tile, size->required_int("longest_edge", 1, kMaxSide));
  }
  TAPML_ASSIGN(p.cuts, json.bool_or("do_image_splitting", true));
  return {};
}

Status read_filter(const JsonObjectReader& json, const Processor& processor, Preparation& p) {
  // Pillow's numbers of its filters; 0, the nearest pixel, is none.
  constexpr std::array kFilters = {Filter::kLanczos, Filter::kBilinear, Filter::kBicubic,
                                   Filter::kBox, Filter::kHamming};
  TAPML_ASSIGN(const int64_t number, json.int_or("resample", processor.filter, 1, kFilters.size()));
  p.filter = kFilters[static_cast<size_t>(number - 1)];
  return {};
}

// Three numbers, or one for all colors.
Status read_colors(const JsonObjectReader& json, const char* key, double least,
                   std::array<float, 3>& colors) {
  const Json* field = json.find(key);
  if (!field) return {};
  const auto is_good = [&](const Json& item) {
    return item.is_number() && item.as_double() >= least && item.as_double() <= 1e6;
  };
  if (is_good(*field)) {
    colors.fill(static_cast<float>(field->as_double()));
    return {};
  }
  if (!field->is_array() || field->items().size() != colors.size() ||
      !std::ranges::all_of(field->items(), is_good)) {
    return fail(json.field_error(key, "is not a list of three colors",
                                 "three numbers from " + Json::number(least).dump() + " on"));
  }
  for (size_t c = 0; c < colors.size(); ++c) {
    colors[c] = static_cast<float>(field->items()[c].as_double());
  }
  return {};
}

Status read_values(const JsonObjectReader& json, const Processor& processor, Preparation& p) {
  TAPML_ASSIGN(const bool scales, json.bool_or("do_rescale", true));
  if (scales) {
    TAPML_ASSIGN(p.scale, json.float_or("rescale_factor", 1.0 / 255, 1e-9, 1e3));
  }
  TAPML_ASSIGN(const bool normalizes, json.bool_or("do_normalize", true));
  std::array<float, 3> mean = processor.mean, deviation = processor.deviation;
  TAPML_TRY(read_colors(json, "image_mean", -1e6, mean));
  TAPML_TRY(read_colors(json, "image_std", 1e-6, deviation));
  if (normalizes) {
    p.mean = mean;
    p.deviation = deviation;
  }
  return {};
}

Result<Preparation> read(const JsonObjectReader& json) {
  TAPML_ASSIGN(const Processor* processor, find_processor(json));
  Preparation p;
  TAPML_ASSIGN(const bool resizes, json.bool_or("do_resize", true));
  if (resizes) {
    TAPML_TRY(read_size(json, *processor, p));
  }
  TAPML_TRY(read_filter(json, *processor, p));
  TAPML_TRY(read_tiles(json, *processor, p));
  TAPML_ASSIGN(const bool crops, json.bool_or("do_center_crop", processor->crops));
  if (crops) {
    p.crop_height = p.crop_width = processor->edge;
    if (json.has("crop_size")) {
      TAPML_TRY(read_rectangle(json, "crop_size", p.crop_height, p.crop_width));
    }
  }
  TAPML_TRY(read_values(json, *processor, p));
  TAPML_ASSIGN(const bool pads, json.bool_or("do_pad", false));
  if (pads && !processor->can_be_padded && processor->tile == 0) {
    return fail(
        json.field_error("do_pad", "is true, which is not supported for this processor", "false"));
  }
  p.pads_to_square = pads && processor->can_be_padded;
  // Gemma 3's crops of images that are wide or high.
  TAPML_ASSIGN(const bool pans, json.bool_or("do_pan_and_scan", false));
  if (pans) {
    return fail(json.field_error("do_pan_and_scan", "is true, which is not supported", "false"));
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
  TAPML_ASSIGN(const ProcessorConfig config, read_processor_config(folder, "images are"));
  return parse_preparation(config.text, config.path);
}

}  // namespace tapml::image
