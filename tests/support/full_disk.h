// A file system of a few pages, which is soon full. Only where the tests may mount one.
#pragma once

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "support/temp_folder.h"

namespace tapml::testing {

class FullDisk {
 public:
  // `bytes` of `size` are free, in whole pages.
  explicit FullDisk(size_t bytes = 0, size_t size = 64 << 10) {
    const std::string options = "size=" + std::to_string(size) + ",mode=700";
    mounted_ = ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
    if (mounted_ && bytes < size) {
      write_bytes(folder_ / "ballast", std::string(size - bytes, 'x'));
    }
  }
  ~FullDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  FullDisk(const FullDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return folder_.path(); }
  // Whether partially written files remain.
  bool has_remains() const {
    for (const std::string& name : names_under(path())) {
      if (name.find("tmp") != std::string::npos) return true;
    }
    return false;
  }

 private:
  TempFolder folder_;
  bool mounted_ = false;
};

}  // namespace tapml::testing
