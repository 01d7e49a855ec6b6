// The small files of a model, on disk or in memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml {

class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual bool has(std::string_view name) const = 0;
  // The whole file. UserError if it is missing, unreadable, or larger than `most` bytes.
  virtual Result<std::string> read(std::string_view name, size_t most = size_t{1} << 30) const = 0;
  // The file's name for messages.
  virtual std::string path_of(std::string_view name) const = 0;
  // Names of the files in a folder of the source, with the folder's: "folder/name", in no order.
  virtual std::vector<std::string> list(std::string_view folder) const = 0;
};

class MemoryFiles final : public FileSource {
 public:
  // `name` is the source's, for messages.
  explicit MemoryFiles(std::string name) : name_(std::move(name)) {}

  void add(std::string name, std::string text) { files_[std::move(name)] = std::move(text); }

  bool has(std::string_view name) const override { return files_.contains(name); }
  Result<std::string> read(std::string_view name, size_t most) const override;
  std::string path_of(std::string_view name) const override;
  std::vector<std::string> list(std::string_view folder) const override;

 private:
  std::string name_;
  std::map<std::string, std::string, std::less<>> files_;
};

}  // namespace tapml
