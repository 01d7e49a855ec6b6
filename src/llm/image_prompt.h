// Images in prompts (ImageInput).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/model_interface.h"
#include "llm/text_inputs.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::llm {

// The prompt with the text of an image in the place of each placeholder, in order. UserError unless
// it has one for each of `images`, and for a tokenizer without the image's token.
Result<std::string> with_image_tokens(std::string_view prompt, const ImageInput& input,
                                      const Tokenizer& tokenizer,
                                      std::span<const TextImage> images);

// The positions among a text's tokens where each of `parts` begins. UserError unless the text has
// the tokens of so many parts, those of each one after another.
Result<std::vector<int64_t>> image_positions(std::span<const int32_t> tokens,
                                             const ImageInput& input, size_t parts);

}  // namespace tapml::llm
