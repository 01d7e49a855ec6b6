// Writes a model in the format of another program: `tapml export`.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/work.h"

namespace tapml::app {

struct ExportCommand {
  std::string model;  // model directory or GGUF file
  std::string gguf;   // the file to write
  std::string type;   // of a GGUF file; empty: the dtype that the configuration names
};

struct ExportedFile {
  std::string architecture;              // of the file
  std::string type;                      // of the file
  std::map<std::string, int64_t> types;  // how many tensors of each
  int64_t fallbacks = 0;                 // tensors whose rows do not fit the type of the others
  int64_t elements = 0;
  int64_t bytes = 0, source_bytes = 0;  // of the file; of all elements in f32
  double seconds = 0;                   // of quantizing and writing
};

// Weights are mapped and written one after another; the file appears once it is whole. `watcher`
// receives the bytes written. UserError for an executable, what plan_gguf_export() refuses, a
// tokenizer that gives other tokens once it is read back, a weight with values that the type lacks,
// and a path that cannot be written.
ExportedFile export_model(const ExportCommand& command, const WorkWatcher& watcher = {});

}  // namespace tapml::app
