// A file that appears at its path once it is whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace tapml {

class Descriptor;

// Written piece by piece under a temporary name beside the path, which goes away with this object
// unless commit() has renamed it.
class AtomicFile {
 public:
  // UserError for a folder that does not exist or is not writable, and for a path that is a folder.
  static Result<std::unique_ptr<AtomicFile>> create(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // PlatformError kOutOfMemory for a full disk.
  Status write(std::span<const std::byte> bytes);
  // Flushes the file and gives it its name. Nothing may follow.
  Status commit();

 private:
  AtomicFile(std::string path, std::string temporary, int descriptor);

  std::string path_, temporary_;  // the latter is empty once there is no such file
  std::unique_ptr<Descriptor> file_;
};

// Why a file at `path` cannot be written, of an errno.
Error write_error(const std::string& path, int error);

}  // namespace tapml
