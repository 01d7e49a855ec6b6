// A suite that is being written: tensors come and go while a run is carved, and nothing is kept in
// memory.
#pragma once

#include <set>
#include <string>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// The name of a tensor's file under the suite's folder.
std::string tensor_file(const std::string& hash);

class SuiteFolder {
 public:
  // Makes the folder. A suite that is there already stays whole until finish().
  static Result<SuiteFolder> open(const std::string& folder);

  // Writes tensors/<hash>.safetensors, whole or not at all; once.
  Status put(const std::string& hash, const HostTensor& tensor);
  // Takes away what put() wrote: at once, or where suite.json names it, once that is written anew.
  Status remove(const std::string& hash);
  bool has(const std::string& hash) const { return written_.contains(hash); }

  // Before the first tensor: whatever ends the writer from here on, the folder reads as an
  // incomplete suite. A suite that is there stays, marked so; else `empty`, which is marked, is
  // written.
  Status begin(Suite empty);
  // Writes suite.json for what is there, which makes the folder a suite; more may follow.
  Status write_index(const Suite& suite);
  // The same, and removes tensors that no call names: of a suite that was there before, or of a
  // call that was interrupted.
  Status finish(const Suite& suite);

 private:
  explicit SuiteFolder(std::string folder) : folder_(std::move(folder)) {}
  Status erase(const std::string& hash) const;

  std::string folder_;
  std::set<std::string> written_;
  std::set<std::string> indexed_;  // named by the suite.json that is there
};

}  // namespace tapml::topdown
