// The reference's logits, kept in the folders of migrations: a resumed one need not evaluate the
// whole model again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topdown/reference_run/model_reference.h"

namespace tapml::topdown {

class ReferenceStore {
 public:
  // `model`: a digest of what is evaluated, weights and program alike. `folders` may not be there
  // yet.
  ReferenceStore(std::string model, std::vector<std::string> folders)
      : model_(std::move(model)), folders_(std::move(folders)) {}

  // Of `tokens`, from token `first` on; empty where no folder has them, or what it has was altered.
  std::optional<ReferenceLogits> find(const std::vector<int32_t>& tokens, size_t first) const;
  // Takes them, for flush() to write.
  void keep(const std::vector<int32_t>& tokens, size_t first, const ReferenceLogits& logits);
  // Writes what was taken to each folder that is there, each file whole or not at all. Throws.
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
