// Images in Gemma 3: means of squares of SigLIP's last hidden states go through a norm and a
// projection, and see each other in the language model (Gemma Team 2025; the layout and names of
// Hugging Face's Gemma3ForConditionalGeneration).
#include <array>
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/image_readers.h"
#include "models/vision_fields.h"

namespace tapml::models::gemma3_images {

using relax::make_shape;
using relax::Variable;

namespace {

constexpr int32_t kImageToken = 262144;
constexpr int64_t kRows = 256, kMostRows = int64_t{1} << 16;
constexpr const char* kTower = "model.vision_tower";
constexpr const char* kProjector = "model.multi_modal_projector";

struct Config {
  VisionConfig vision;
  int64_t side = 0;  // squares of patches in a row and in a column, each of which becomes one row
  int64_t hidden = 0;

  int64_t rows() const { return side * side; }
};

// "mm_tokens_per_image", the number of squares.
void read_rows(const JsonObjectReader& json, Config& c) {
  const char* key = "mm_tokens_per_image";
  const int64_t rows = unwrap(json.int_or(key, kRows, 1, kMostRows));
  c.side = std::llround(std::sqrt(static_cast<double>(rows)));
  const int64_t patches = c.vision.patches_per_side();
  if (c.rows() == rows && patches % c.side == 0) return;
  throw_error(json.field_error(
      key, "does not divide the patches of an image into squares",
      "the square of a divisor of " + std::to_string(patches) + ", image_size / patch_size"));
}

Variable embeddings(Graph& g, const Config& c) {
  Variable x = vision_transformer(g, kTower, g.pixels(), c.vision);
  const std::string path = kProjector;
  g.origin(path + ".avg_pool");
  const int64_t width = c.vision.hidden, square = c.vision.patches_per_side() / c.side;
  x = g.op("reshape", {x, make_shape({g.batch(), c.side, square, c.side, square, width})});
  x = g.op("mean", {x}, {{"axes", std::vector<int64_t>{2, 4}}});
  x = g.op("reshape", {x, make_shape({g.batch(), c.rows(), width})});
  x = norm(g, path + ".mm_soft_emb_norm", x,
           {.epsilon = c.vision.norm_epsilon, .one_plus_weight = true});
  g.origin(path);
  const Variable projection =
      g.stored_weight({path + ".mm_input_projection_weight", {width, c.hidden}, {}});
  AttrMap attrs;
  if (g.activations() != DType::kF32) attrs["out_dtype"] = DType::kF32;
  return g.widened(g.op("matmul", {x, projection}, std::move(attrs)));
}

}  // namespace

ImageEncoder read_images(const JsonObjectReader& json, const DecoderModel& text,
                         ConfigNotes& notes) {
  Config c;
  c.vision = read_vision(json, {&kSiglipVision, 1}, notes);
  c.vision.last_norm = true;
  read_rows(json, c);
  c.hidden = text.embedding_width;
  static constexpr std::array kTokenKeys = {"image_token_index", "image_token_id"};
  ImageInput input;
  input.token = read_image_token(json, kTokenKeys, kImageToken, text.vocabulary);
  input.rows = c.rows();
  // The texts of the published processor.
  input.placeholder = "<start_of_image>";
  input.before = "\n\n" + input.placeholder;
  input.after = "<end_of_image>\n\n";
  return {.image = {c.vision.channels, c.vision.side, c.vision.side},
          .input = std::move(input),
          .embeddings = [c](Graph& g) { return embeddings(g, c); },
          .both_ways = true,
          .tower = kTower};
}

}  // namespace tapml::models::gemma3_images
