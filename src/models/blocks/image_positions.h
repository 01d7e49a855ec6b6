// Rotary positions in texts with images, whose embeddings have a row and a column: M-RoPE (Wang et
// al. 2024, Qwen2-VL).
#pragma once

#include <array>

#include "models/blocks/rope.h"

namespace tapml::models {

// How many pairs of a head turn by a position's row and by its column: every third pair from 1 and
// from 2 on, the first `rows` and `columns` of these (Qwen3-VL). The others turn by its time.
struct ImageSections {
  int64_t rows = 0, columns = 0;
};

// A token has the number of positions before it as its time, row and column. All embeddings of an
// image have one time, that of its first, to which their row and column in the image are added; an
// image takes as many positions as it has rows. What a text has skipped so is recurrent state
// ("skipped_positions"). In a function without images the positions are those of make_rope().
Rope image_rope(Graph& g, const RopeConfig& rope, int64_t head_dim, const ImageSections& sections);

}  // namespace tapml::models
