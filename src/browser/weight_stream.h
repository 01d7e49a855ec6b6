// Weights that arrive piece by piece and go straight to the device: the program's memory never has
// more of them than a piece.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "io/safetensors.h"
#include "runtime/tensor.h"

namespace tapml::browser {

class WeightStream {
 public:
  // A file of `file_bytes` in the safetensors format with the weights `wanted`, whose other tensors
  // are skipped.
  WeightStream(runtime::Session& session, int64_t file_bytes, std::vector<std::string> wanted)
      : session_(session), file_bytes_(file_bytes), wanted_(std::move(wanted)) {}

  // Takes the whole header, with which the file begins, and allocates the weights. UserError for
  // another form and a missing weight; kLimit, before anything is allocated, for weights that the
  // device has no room for.
  Status begin(std::span<const std::byte> header);
  // The next bytes of the file, those of the header included. UserError for more than there are.
  // Waits for the device now and then, so that pieces do not pile up in front of it.
  Status add(std::span<const std::byte> bytes);
  // Call it after the last byte. UserError if bytes are missing, or the file's checksum is not
  // `checksum`.
  Result<std::map<std::string, runtime::Tensor>> finish(uint64_t checksum);

 private:
  struct Target {
    int64_t begin = 0, end = 0;  // in the file
    runtime::Tensor tensor;
  };
  Status check_room(std::span<const SafetensorsEntry> entries) const;

  runtime::Session& session_;
  const int64_t file_bytes_;
  const std::vector<std::string> wanted_;
  std::map<std::string, runtime::Tensor> tensors_;
  std::vector<Target> targets_;  // in file order
  size_t next_ = 0;              // the first target that is not complete
  int64_t reached_ = 0, unsettled_ = 0;
  Checksum64 checksum_;
};

}  // namespace tapml::browser
