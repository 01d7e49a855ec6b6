#include "frontend/huggingface/tied_head.h"

#include <algorithm>

namespace tapml::frontend {

namespace {

bool same_values(const HostTensor& a, const HostTensor& b) {
  if (a.shape() != b.shape()) return false;
  if (a.dtype() == b.dtype()) return std::ranges::equal(a.bytes(), b.bytes());
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a.at_f64(i) != b.at_f64(i)) return false;
  }
  return true;
}

}  // namespace

bool has_other_head(const HuggingFaceConfig& config, const WeightFiles& files) {
  if (config.encoder || !config.model.tied_embeddings) return false;
  const auto head = files.tensors.find(files.stored_name(config.model.head + ".weight"));
  const auto embedding = files.tensors.find(files.stored_name(config.model.embedding + ".weight"));
  return head != files.tensors.end() && embedding != files.tensors.end() &&
         !same_values(head->second, embedding->second);
}

}  // namespace tapml::frontend
