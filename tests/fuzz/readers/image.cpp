// PNG and JPEG files, and files of image processors. An accepted image has as many bytes as its
// size says. Checksums of PNG are in the way of the mutator, so the inputs include JPEG files.
#include "finding.h"
#include "image/decode.h"
#include "image/preparation.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto preparation =
      image::parse_preparation(as_text(data, size), "preprocessor_config.json");
  if (!preparation) require_user_error(preparation.error());
  const auto picture =
      image::decode_image({reinterpret_cast<const std::byte*>(data), size}, "input");
  if (!picture) {
    require_user_error(picture.error());
    return 0;
  }
  require(picture->width > 0 && picture->height > 0, "an image without pixels");
  require(std::ssize(picture->rgb) == 3 * picture->width * picture->height,
          "another number of bytes than of pixels");
  return 0;
}
