#include "io/host/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "io/host/descriptor.h"

namespace tapml {

namespace {

// A name beside `path` that no other writer uses: the counter distinguishes those of this process,
// the process id those of others.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path whole(path);
  std::string name = "." + whole.filename().string() + ".tmp-" + std::to_string(::getpid()) + "-" +
                     std::to_string(counter.fetch_add(1));
  return (whole.parent_path() / name).string();
}

}  // namespace

Error write_error(const std::string& path, int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return platform_error(PlatformFault::kOutOfMemory, "the disk is full: cannot write " + path,
                          path, "free some space, or write elsewhere");
  }
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  // Kernel file systems report "no such file" when creating files is not allowed.
  std::error_code ignored;
  const bool missing = error == ENOENT || error == ENOTDIR;
  if (missing && !std::filesystem::is_directory(folder, ignored)) {
    return user_error("cannot write " + path + ": its folder does not exist", path,
                      "an existing folder", folder, "make the folder first");
  }
  if (error == EISDIR || error == EEXIST || error == ENOTEMPTY) {
    return user_error("cannot write " + path + ": it is a folder", path, "the path of a file",
                      "a folder");
  }
  return user_error("cannot write " + path, path, "a folder that can be written",
                    std::strerror(error));
}

Result<std::unique_ptr<AtomicFile>> AtomicFile::create(const std::string& path) {
  struct stat existing = {};
  if (::stat(path.c_str(), &existing) == 0 && S_ISDIR(existing.st_mode)) {
    return fail(write_error(path, EISDIR));
  }
  std::string temporary = temporary_name(path);
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail(write_error(path, errno));
  return std::unique_ptr<AtomicFile>(new AtomicFile(path, std::move(temporary), descriptor));
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      file_(std::make_unique<Descriptor>(descriptor)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  const int error = write_all(file_->get(), bytes);
  if (error != 0) return fail(write_error(path_, error));
  return {};
}

Status AtomicFile::commit() {
  int error = ::fsync(file_->get()) != 0 ? errno : 0;
  const int close_error = file_->close();
  if (error == 0) error = close_error;
  if (error == 0 && ::rename(temporary_.c_str(), path_.c_str()) != 0) error = errno;
  if (error != 0) return fail(write_error(path_, error));
  temporary_.clear();
  return {};
}

}  // namespace tapml
