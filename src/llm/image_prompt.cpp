#include "llm/image_prompt.h"

#include <algorithm>

#include "base/strings.h"

namespace tapml::llm {

namespace {

std::vector<size_t> places_of(std::string_view text, std::string_view part) {
  std::vector<size_t> places;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) {
    places.push_back(at);
  }
  return places;
}

std::string count_of(size_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

Error wrong_number(size_t places, size_t images, const std::string& placeholder) {
  const bool none = images == 0;
  return user_error(
      "the prompt has " + count_of(places, "place") + " for images, but there are " +
          (none ? "none" : std::to_string(images)),
      "prompt",
      none ? "no " + in_quotes(placeholder)
           : count_of(images, "placeholder") + " " + in_quotes(placeholder),
      std::to_string(places),
      none ? "give an image for each, or leave them out of the prompt"
           : "write " + placeholder + " where the model's chat template puts an image");
}

// "{row}" and "{column}" in the text are numbers.
std::string with_numbers(std::string text, int64_t row, int64_t column) {
  for (const auto& [name, number] : {std::pair{"{row}", row}, std::pair{"{column}", column}}) {
    const size_t at = text.find(name);
    if (at != text.npos) text.replace(at, std::string_view(name).size(), std::to_string(number));
  }
  return text;
}

std::string text_of(const TextImage& image, const ImageInput& input, std::string_view token) {
  std::string tokens, text;
  for (int64_t row = 0; row < input.rows; ++row) tokens += token;
  for (int64_t row = 1; row <= image.rows; ++row) {
    for (int64_t column = 1; column <= image.columns; ++column) {
      text += with_numbers(input.tile, row, column) + tokens;
    }
    text += input.after_row;
  }
  if (image.rows > 0) text += input.after_tiles;
  return text + input.before + tokens + input.after;
}

}  // namespace

Result<std::string> with_image_tokens(std::string_view prompt, const ImageInput& input,
                                      const Tokenizer& tokenizer,
                                      std::span<const TextImage> images) {
  const auto token = tokenizer.id_to_token(input.token);
  if (!token || token->empty()) {
    return fail(user_error("the tokenizer lacks the token of images", "tokenizer.json",
                           "a token with the id " + std::to_string(input.token), "none",
                           "use the tokenizer that was published with the model"));
  }
  const std::string placeholder =
      input.placeholder.empty() ? std::string(*token) : input.placeholder;
  const std::vector<size_t> places = places_of(prompt, placeholder);
  if (places.size() != images.size()) {
    return fail(wrong_number(places.size(), images.size(), placeholder));
  }
  std::string text;
  size_t done = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    text += std::string(prompt.substr(done, places[i] - done));
    text += text_of(images[i], input, *token);
    done = places[i] + placeholder.size();
  }
  return text + std::string(prompt.substr(done));
}

Result<std::vector<int64_t>> image_positions(std::span<const int32_t> tokens,
                                             const ImageInput& input, size_t parts) {
  std::vector<int64_t> positions;
  int64_t left = 0;  // tokens of the current image
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == input.token) {
      if (left == 0) {
        positions.push_back(static_cast<int64_t>(i));
        left = input.rows;
      }
      --left;
    } else if (left > 0) {
      break;
    }
  }
  if (left == 0 && positions.size() == parts) return positions;
  const size_t found = static_cast<size_t>(std::ranges::count(tokens, input.token));
  return fail(user_error("the tokens of images in the text do not match the images", "prompt",
                         count_of(parts, "image") + " of " +
                             count_of(static_cast<size_t>(input.rows), "token") + " " +
                             std::to_string(input.token),
                         std::to_string(found) + " of these tokens"));
}

}  // namespace tapml::llm
