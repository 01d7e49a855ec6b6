// What a published image processor does with a picture before a model reads it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "image/resize.h"
#include "tensor/host_tensor.h"

namespace tapml::image {

// The steps, in this order.
struct Preparation {
  enum class Resize : uint8_t {
    kNone,
    kExact,         // to `height` and `width`
    kShortestEdge,  // the shorter edge to `edge`, the other one in proportion
    kLongestEdge,   // the longer edge to `edge`, the other one in proportion, to an even number
    kToModel,       // to what the model reads: the caller says that as kExact
  };

  bool pads_to_square = false;  // in the middle of a square of the mean color
  Resize resize = Resize::kNone;
  int64_t height = 0, width = 0, edge = 0;
  Filter filter = Filter::kBicubic;
  // The middle of this height and width, on black where the image is smaller; 0: not.
  int64_t crop_height = 0, crop_width = 0;
  // Height and width of what the model reads, to which the image is resized once more; 0: it reads
  // the image as it is. With `cuts`, an image that is larger is also cut into tiles of this size,
  // after it has been resized to a multiple.
  int64_t tile = 0;
  bool cuts = false;
  double scale = 1;  // of the values from 0 to 255
  // Of the scaled values of red, green and blue.
  std::array<float, 3> mean = {0, 0, 0}, deviation = {1, 1, 1};
};

// Parses a preprocessor_config.json, or the object "image_processor" of a processor_config.json.
// Absent fields get the defaults of the processor's class in transformers. UserError for a class
// that is not known, and for everything that Preparation cannot express, at the field.
Result<Preparation> parse_preparation(std::string_view text, const std::string& source);

// The preparation in a model folder. UserError as above, and if there is no such file.
Result<Preparation> read_preparation(const std::string& folder);

// What a model reads of an image: its tiles, row by row, if it is cut into these, then the whole.
struct PreparedImage {
  int64_t rows = 0, columns = 0;  // of tiles
  std::vector<HostTensor> parts;  // f32[3, height, width]
};

// `source` names the image in errors: UserError for one that is so narrow that it would have more
// than kMostPixels.
Result<PreparedImage> prepared(const Image& image, const Preparation& preparation,
                               const std::string& source);

}  // namespace tapml::image
