// Vision transformers: an image in patches, which attend to each other (Dosovitskiy et al. 2020).
#pragma once

#include "models/blocks/feed_forward.h"

namespace tapml::models {

struct VisionConfig {
  int64_t channels = 3;
  int64_t side = 0;   // height and width of an image in pixels
  int64_t patch = 0;  // of a patch; what is left of an image at its right and lower edge is unused
  int64_t hidden = 0;
  int64_t layers = 0;  // that are computed
  int64_t heads = 0;   // divides hidden
  int64_t intermediate = 0;
  Activation activation = Activation::kQuickGelu;
  double norm_epsilon = 1e-5;
  bool has_class = false;   // a vector before the patches ("embeddings.class_embedding")
  bool patch_bias = false;  // of the embedding of patches
  bool first_norm = false;  // before the layers ("pre_layrnorm")
  bool last_norm = false;   // after the layers ("post_layernorm")

  int64_t patches_per_side() const { return side / patch; }
  int64_t patches() const { return patches_per_side() * patches_per_side(); }
};

// Patches do not overlap, so their convolution is a product with a matrix: [b, patches, channels *
// patch * patch] of the pixels, which are square.
relax::Variable in_patches(Graph& g, relax::Variable pixels, int64_t channels, int64_t side,
                           int64_t patch);

// Queries, keys and values [b, rows, heads, width] to [b, rows, heads * width]: every row attends
// to every row. Scores and their softmax are f32.
relax::Variable attend_to_all(Graph& g, const relax::Variable& q, const relax::Variable& k,
                              const relax::Variable& v, int64_t rows, int64_t heads);

// Hidden states [b, patches, hidden], with one more row in front for the class, of images
// f32[b, channels, side, side], in the dtype of activations. Weights under `path` have the names of
// CLIP's and SigLIP's encoders in transformers.
relax::Variable vision_transformer(Graph& g, const std::string& path, const relax::Variable& pixels,
                                   const VisionConfig& config);

}  // namespace tapml::models
