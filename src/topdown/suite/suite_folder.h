// Writes a suite while a run is carved: tensors are added and removed, and none is kept in memory.
#pragma once

#include <set>
#include <string>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// The name of a tensor's file in the suite's folder.
std::string tensor_file(const std::string& hash);

class SuiteFolder {
 public:
  // Makes the folder. An existing suite stays valid until finish().
  static Result<SuiteFolder> open(const std::string& folder);

  // Writes tensors/<hash>.safetensors, whole or not at all, and only once.
  Status put(const std::string& hash, const HostTensor& tensor);
  // Removes what put() wrote: at once, or, if suite.json names it, after that is written again.
  Status remove(const std::string& hash);
  bool has(const std::string& hash) const { return written_.contains(hash); }

  // Called before the first tensor: however the process ends after this, the folder reads as an
  // incomplete suite. Marks an existing suite as incomplete; else writes `empty`, marked.
  Status begin(Suite empty);
  // Writes suite.json for the tensors so far, which makes the folder a suite; more may follow.
  Status write_index(const Suite& suite);
  // The same, and removes tensors that no call names: those of an earlier suite or of an
  // interrupted call.
  Status finish(const Suite& suite);

 private:
  explicit SuiteFolder(std::string folder) : folder_(std::move(folder)) {}
  Status erase(const std::string& hash) const;

  std::string folder_;
  std::set<std::string> written_;
  std::set<std::string> indexed_;  // named by the existing suite.json
};

}  // namespace tapml::topdown
