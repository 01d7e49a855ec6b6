// Idefics 3 and SmolVLM: the last hidden states that SigLIP has of squares of patches are one
// vector each, which a linear layer projects (Laurençon et al. 2024; the layout and names of
// Hugging Face's Idefics3ForConditionalGeneration and SmolVLMForConditionalGeneration).
#include <array>

#include "ir/exceptions.h"
#include "models/architectures/image_readers.h"
#include "models/vision_fields.h"

namespace tapml::models::idefics3 {

using relax::make_shape;
using relax::Variable;

namespace {

// From transformers' Idefics3VisionConfig and SmolVLMVisionConfig.
constexpr VisionDefaults encoder(const char* name) {
  return {.name = name, .hidden = 1152, .heads = 16, .patch = 32};
}
constexpr int32_t kImageToken = 128257;
constexpr int64_t kMostScale = 1024;
constexpr const char* kTower = "model.vision_model";

struct Config {
  VisionConfig vision;
  int64_t scale = 2;  // patches of a row and of a column that become one vector
  int64_t hidden = 0;

  int64_t vectors_per_side() const { return vision.patches_per_side() / scale; }
  int64_t rows() const { return vectors_per_side() * vectors_per_side(); }
};

Variable embeddings(Graph& g, const Config& c) {
  Variable x = vision_transformer(g, kTower, g.pixels(), c.vision);
  g.origin("model.connector");
  const int64_t side = c.vectors_per_side(), width = c.vision.hidden;
  x = g.op("reshape", {x, make_shape({g.batch(), side, c.scale, side, c.scale * width})});
  x = g.op("permute", {x}, {{"axes", std::vector<int64_t>{0, 1, 3, 2, 4}}});
  x = g.op("reshape", {x, make_shape({g.batch(), c.rows(), c.scale * c.scale * width})});
  return g.widened(linear(g, "model.connector.modality_projection.proj", x, c.hidden));
}

ImageEncoder read(const JsonObjectReader& json, const VisionDefaults& defaults,
                  const DecoderModel& text, ConfigNotes& notes) {
  Config c;
  c.vision = read_vision(json, {&defaults, 1}, notes);
  c.vision.last_norm = true;
  c.scale = unwrap(json.int_or("scale_factor", 2, 1, kMostScale));
  if (c.vision.patches_per_side() % c.scale != 0) {
    throw_error(json.field_error("scale_factor", "does not divide the patches of a side",
                                 "a divisor of " + std::to_string(c.vision.patches_per_side()) +
                                     ", image_size / patch_size"));
  }
  c.hidden = text.embedding_width;
  static constexpr std::array kTokenKeys = {"image_token_id"};
  ImageInput input;
  input.token = read_image_token(json, kTokenKeys, kImageToken, text.vocabulary);
  input.rows = c.rows();
  // The texts of the published processors.
  const std::string edge = "<fake_token_around_image>";
  input.before = edge + "<global-img>";
  input.after = edge;
  input.tile = edge + "<row_{row}_col_{column}>";
  input.after_row = input.after_tiles = "\n";
  return {.image = {c.vision.channels, c.vision.side, c.vision.side},
          .input = std::move(input),
          .embeddings = [c](Graph& g) { return embeddings(g, c); },
          .tower = kTower};
}

}  // namespace

ImageEncoder read_images(const JsonObjectReader& json, const DecoderModel& text,
                         ConfigNotes& notes) {
  return read(json, encoder("idefics3_vision"), text, notes);
}

ImageEncoder read_smolvlm(const JsonObjectReader& json, const DecoderModel& text,
                          ConfigNotes& notes) {
  return read(json, encoder("smolvlm_vision"), text, notes);
}

}  // namespace tapml::models::idefics3
