// Keeps the reference logits in the folders of migrations, so that a resumed one need not evaluate
// the whole model again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topdown/reference_run/model_reference.h"

namespace tapml::topdown {

class ReferenceStore {
 public:
  // `model`: a digest of the weights and the program. `folders` need not exist yet.
  ReferenceStore(std::string model, std::vector<std::string> folders)
      : model_(std::move(model)), folders_(std::move(folders)) {}

  // The logits of `tokens` from token `first` on; empty if no folder has them, or if they were
  // altered.
  std::optional<ReferenceLogits> find(const std::vector<int32_t>& tokens, size_t first) const;
  // Takes logits for flush() to write.
  void keep(const std::vector<int32_t>& tokens, size_t first, const ReferenceLogits& logits);
  // Writes the new logits to each existing folder, each file whole or not at all. Throws.
  void flush();

 private:
  struct Kept {
    std::string name;
    ReferenceLogits logits;
  };
  std::string name_of(const std::vector<int32_t>& tokens, size_t first) const;

  std::string model_;
  std::vector<std::string> folders_;
  std::vector<Kept> kept_;
};

}  // namespace tapml::topdown
