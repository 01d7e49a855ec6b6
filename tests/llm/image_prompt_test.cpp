// Placeholders of images in prompts, and the tokens that stand for images.
#include "llm/image_prompt.h"

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "llm/tokenizer/tokenizer_folder.h"
#include "support/expect_error.h"
#include "support/golden_path.h"

namespace tapml::llm {
namespace {

using Tokens = std::vector<int32_t>;
using Positions = std::vector<int64_t>;

// One token for each character, and "<image>", 96.
const Tokenizer& tokenizer() {
  static const Tokenizer made =
      unwrap(tokenizer::read_tokenizer(testing::golden_path("images/llava")));
  return made;
}

ImageInput plain_input() {
  ImageInput input;
  input.token = 96;
  input.rows = 3;
  return input;
}

ImageInput tiled_input() {
  ImageInput input = plain_input();
  input.rows = 1;
  input.placeholder = "[i]";
  input.before = "(";
  input.after = ")";
  input.tile = "{row}.{column}:";
  input.after_row = ";";
  input.after_tiles = "!";
  return input;
}

std::string text_with(const ImageInput& input, std::string_view prompt,
                      const std::vector<TextImage>& images) {
  return unwrap(with_image_tokens(prompt, input, tokenizer(), images));
}

TEST(ImagePrompt, PlaceholdersBecomeTokens) {
  EXPECT_EQ(text_with(plain_input(), "a<image>b<image>", {{}, {}}),
            "a<image><image><image>b<image><image><image>");
  EXPECT_EQ(text_with(plain_input(), "ab", {}), "ab");
  EXPECT_EQ(text_with(tiled_input(), "a[i]b[i]", {{1, 2, {}}, {}}),
            "a1.1:<image>1.2:<image>;!(<image>)b(<image>)");
  EXPECT_EQ(text_with(tiled_input(), "[i]", {{2, 1, {}}}), "1.1:<image>;2.1:<image>;!(<image>)");
}

TEST(ImagePrompt, NamesAnotherNumberOfImages) {
  const auto error = [](const ImageInput& input, std::string_view prompt, size_t images) {
    const std::vector<TextImage> all(images);
    const auto text = with_image_tokens(prompt, input, tokenizer(), all);
    return text ? user_error("none", "", "", "") : text.error();
  };
  testing::expect_parts(
      error(plain_input(), "a", 2),
      {"0 places for images, but there are 2", "2 placeholders \"<image>\"", "chat template"});
  testing::expect_parts(error(plain_input(), "<image><image>", 1), {"2 places", "there are 1"});
  testing::expect_parts(error(tiled_input(), "[i]", 0),
                        {"1 place for images, but there are none", "no \"[i]\""});
  ImageInput unknown = plain_input();
  unknown.token = 1000;
  testing::expect_parts(error(unknown, "<image>", 1), {"lacks the token of images", "1000"});
}

TEST(ImagePrompt, PositionsAreThoseOfTheFirstTokens) {
  const auto positions = [](const Tokens& tokens, size_t parts) {
    return image_positions(tokens, plain_input(), parts);
  };
  EXPECT_EQ(unwrap(positions({1, 96, 96, 96, 2}, 1)), (Positions{1}));
  EXPECT_EQ(unwrap(positions({96, 96, 96, 96, 96, 96}, 2)), (Positions{0, 3}));
  EXPECT_EQ(unwrap(positions({1, 2}, 0)), (Positions{}));
  for (const Tokens& wrong :
       {Tokens{1, 2}, Tokens{96, 96}, Tokens{96, 96, 1, 96}, Tokens{96, 96, 96, 1, 96, 96, 96}}) {
    const auto found = positions(wrong, 1);
    ASSERT_FALSE(found);
    testing::expect_parts(found.error(), {"do not match the images", "1 image of 3 tokens 96"});
  }
}

}  // namespace
}  // namespace tapml::llm
