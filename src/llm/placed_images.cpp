// Images in the texts of an engine: the model makes embeddings of each, which take the place of
// tokens.
#include <algorithm>
#include <utility>

#include "llm/engine_state.h"

namespace tapml::llm {

namespace {

constexpr const char* kEmbedImage = "embed_image";

}  // namespace

Status Engine::State::find_image_input() {
  const ModelFunction* embed = model.find_function(kEmbedImage);
  if (!embed) return {};
  image_input = InputOfText::find(vm->executable(), *embed, Role::kPixels);
  const bool is_whole = image_input && image_input->dtype() == DType::kF32 &&
                        image_input->rank() == 3 && model.image && model.image->rows > 0 &&
                        embedding_input && embedding_input->dtype() == DType::kF32;
  if (is_whole) return {};
  return fail(user_error("the model does not declare the images that it reads",
                         "function embed_image of the model",
                         "pixels f32[b, channels, height, width], the attributes model.image.token "
                         "and model.image.rows, and a prefill that takes embeddings of f32",
                         model_function_text(*embed)));
}

Status Engine::State::check_image(const HostTensor& pixels) const {
  if (!image_input) {
    return fail(user_error("the model reads no images", "images",
                           "a model with the function embed_image", model.architecture));
  }
  if (image_input->takes(pixels)) return {};
  return fail(user_error("the image does not fit the model", "images", image_input->text(),
                         dtype_name(pixels.dtype()) + shape_to_string(pixels.shape())));
}

Status Engine::State::read_images() {
  while (!unread_images.empty()) {
    const UnreadImage& image = unread_images.front();
    Shape shape = image.pixels.shape();
    shape.insert(shape.begin(), 1);
    TAPML_ASSIGN(runtime::Tensor pixels, runtime::upload(session, image.pixels.reshaped(shape)));
    arguments.set(Role::kPixels, std::move(pixels));
    HostTensor made;
    TAPML_TRY(call(function(kEmbedImage), &made));
    const int64_t width = *embedding_input->constant_extent(1);
    if (made.dtype() != DType::kF32 || made.shape() != Shape{1, model.image->rows, width}) {
      return fail(internal_error("the embeddings of an image do not match the model's interface",
                                 kEmbedImage));
    }
    const auto row_bytes =
        static_cast<std::ptrdiff_t>(width) * static_cast<std::ptrdiff_t>(dtype_bytes(DType::kF32));
    std::ranges::copy(made.bytes(),
                      embeddings.rows.mutable_bytes().begin() + image.row * row_bytes);
    uploaded_embeddings = {};
    unread_images.erase(unread_images.begin());
  }
  return {};
}

}  // namespace tapml::llm
