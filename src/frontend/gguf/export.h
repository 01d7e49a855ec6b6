// Plans the GGUF file of a published model, or of another GGUF file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/gguf/export_tokenizer.h"
#include "frontend/gguf/export_weights.h"
#include "frontend/gguf/file_types.h"

namespace tapml::frontend {

struct GgufExport {
  std::string architecture;
  GgufMetadata metadata;
  std::vector<GgufExportTensor> tensors;
  std::vector<GgufTensorInfo> infos;  // of the same, with their types
  int64_t fallbacks = 0;              // tensors whose rows do not fit the type of the others
  std::shared_ptr<const void> owner;  // of what the metadata views

  // What a reader of the metadata sees; the tensors have no bytes.
  GgufFile file() const;
};

// Of a folder with config.json and weights. Without a tokenizer, which may be null, the file says
// so. The metadata is read back: UserError for what it does not express, for an architecture
// without a mapping, a configuration and weights as read_model() refuses them.
GgufExport plan_gguf_export(const std::string& folder, const GgufFileType& type,
                            const GgufTokenizerSource* tokenizer);

// The same of a published model whose weights are open; `name` is the model's in the file.
GgufExport plan_gguf_export(PublishedDecoder model, std::shared_ptr<const WeightFiles> files,
                            const std::string& name, const GgufFileType& type,
                            const GgufTokenizerSource* tokenizer);

// Of a GGUF file: its metadata and tensors with other types. UserError for a part of a model.
GgufExport plan_gguf_conversion(const std::string& path, const GgufFileType& type);

}  // namespace tapml::frontend
