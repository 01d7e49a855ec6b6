#include "app/images.h"

#include "app/embeddings.h"
#include "app/model.h"
#include "app/model_input.h"
#include "image/decode.h"
#include "image/preparation.h"
#include "ir/exceptions.h"
#include "llm/image_prompt.h"

namespace tapml::app {

namespace {

constexpr const char* kImageOption = "--image";
constexpr const char* kEmbedImage = "embed_image";
constexpr int64_t kUnplaced = -1;

// Without images of its own a prompt may have these tokens for embeddings that are given.
bool has_placeholders(const ModelInterface& model, const llm::TextInputs& inputs) {
  return model.image && (!inputs.images.empty() || inputs.embeddings.rows.size() == 0);
}

}  // namespace

bool ImageOptions::are_read_by(const ModelInterface& model) const {
  if (!given()) return false;
  if (!model.find_function(kEmbedImage) || !model.image) {
    throw_user("the model reads no images", kImageOption,
               "a model with an encoder of images (function embed_image)", model.architecture,
               std::string("leave ") + kImageOption + " out");
  }
  return true;
}

std::vector<llm::TextImage> ImageOptions::load(const Module& module,
                                               const std::string& folder) const {
  const ModelInterface model = unwrap(model_interface_of(module.all_attrs()));
  if (!are_read_by(model)) return {};
  const ModelInput input(module, *model.find_function(kEmbedImage), Role::kPixels);
  image::Preparation preparation = unwrap(image::read_preparation(folder));
  if (preparation.resize == image::Preparation::Resize::kToModel) {
    preparation.resize = image::Preparation::Resize::kExact;
    preparation.height = input.constant_extent(1);
    preparation.width = input.constant_extent(2);
  }
  std::vector<llm::TextImage> images;
  for (const std::string& file : files) {
    const image::PreparedImage prepared =
        unwrap(image::prepared(unwrap(image::read_image(file)), preparation, file));
    llm::TextImage image{prepared.rows, prepared.columns, {}};
    for (const HostTensor& part : prepared.parts) {
      image.parts.push_back({input.of_one_text(part, kImageOption + (" " + file)), kUnplaced});
    }
    images.push_back(std::move(image));
  }
  return images;
}

void place_images(const ModelInterface& model, const std::vector<int32_t>& tokens,
                  llm::TextInputs& inputs) {
  if (inputs.images.empty()) return;
  std::vector<llm::PlacedImage*> parts;
  for (llm::TextImage& image : inputs.images) {
    for (llm::PlacedImage& part : image.parts) parts.push_back(&part);
  }
  const std::vector<int64_t> positions =
      unwrap(llm::image_positions(tokens, *model.image, parts.size()));
  for (size_t i = 0; i < positions.size(); ++i) {
    int64_t& position = parts[i]->position;
    if (position != kUnplaced && position != positions[i]) {
      throw_user("the texts have an image at different positions", kImageOption,
                 "position " + std::to_string(position) + ", as in the first text",
                 "position " + std::to_string(positions[i]), "run the command for one prompt");
    }
    position = positions[i];
  }
}

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, const ModelInterface& model,
                                   const std::string& prompt, llm::TextInputs& inputs,
                                   bool is_chat) {
  const std::string text =
      has_placeholders(model, inputs)
          ? unwrap(llm::with_image_tokens(prompt, *model.image, tokenizer, inputs.images))
          : prompt;
  std::vector<int32_t> tokens =
      encode_prompt(tokenizer, model.context, text, inputs.prefix, is_chat);
  place_images(model, tokens, inputs);
  check_positions(inputs.embeddings, std::ssize(tokens));
  return tokens;
}

}  // namespace tapml::app
