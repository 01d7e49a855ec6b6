#include "llm/text_inputs.h"

#include <algorithm>

namespace tapml::llm {

std::vector<int32_t> PlacedEmbeddings::placement(int64_t first, int64_t count) const {
  std::vector<int32_t> rows(static_cast<size_t>(count), -1);
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t at = positions[i] - first;
    if (at >= 0 && at < count) rows[static_cast<size_t>(at)] = static_cast<int32_t>(i);
  }
  return rows;
}

void PlacedEmbeddings::place(const HostTensor& more, int64_t first) {
  const int64_t before = std::ssize(positions), added = more.shape()[0];
  HostTensor all = HostTensor::zeros(more.dtype(), {before + added, more.shape()[1]});
  const auto end = std::ranges::copy(rows.bytes(), all.mutable_bytes().begin()).out;
  std::ranges::copy(more.bytes(), end);
  rows = std::move(all);
  for (int64_t i = 0; i < added; ++i) positions.push_back(first + i);
}

std::string TextInputs::digest() const {
  std::string text;
  if (features.size() > 0) text += " features " + content_hash(features);
  if (embeddings.rows.size() > 0) {
    text += " embeddings " + content_hash(embeddings.rows) + " at";
    for (const int64_t position : embeddings.positions) text += " " + std::to_string(position);
  }
  for (const TextImage& image : images) {
    for (const PlacedImage& part : image.parts) {
      text += " image " + content_hash(part.pixels) + " at " + std::to_string(part.position);
    }
  }
  return text;
}

}  // namespace tapml::llm
