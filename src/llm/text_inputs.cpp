#include "llm/text_inputs.h"

namespace tapml::llm {

std::vector<int32_t> PlacedEmbeddings::placement(int64_t first, int64_t count) const {
  std::vector<int32_t> rows(static_cast<size_t>(count), -1);
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t at = positions[i] - first;
    if (at >= 0 && at < count) rows[static_cast<size_t>(at)] = static_cast<int32_t>(i);
  }
  return rows;
}

std::string TextInputs::digest() const {
  std::string text;
  if (features.size() > 0) text += " features " + content_hash(features);
  if (embeddings.rows.size() > 0) {
    text += " embeddings " + content_hash(embeddings.rows) + " at";
    for (const int64_t position : embeddings.positions) text += " " + std::to_string(position);
  }
  return text;
}

}  // namespace tapml::llm
