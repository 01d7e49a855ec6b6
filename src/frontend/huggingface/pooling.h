// How a model folder says to make a vector of a text, in the files that the package
// sentence-transformers writes beside a model.
#pragma once

#include <optional>
#include <string>

#include "models/blocks/pooling.h"

namespace tapml::frontend {

// What the caller decides, whatever the folder says.
struct PoolingChoice {
  std::optional<models::Pooling> pooling;
  std::optional<bool> normalized;

  bool given() const { return pooling || normalized; }
  models::PoolingConfig applied_to(models::PoolingConfig config) const;
};

// Reads modules.json and the configuration of the pooling module that it names; the default
// without modules.json. UserError for broken files, and for a module or a pooling that is not
// supported, unless `choice` decides on the pooling itself.
models::PoolingConfig read_pooling(const std::string& folder, const PoolingChoice& choice = {});

}  // namespace tapml::frontend
