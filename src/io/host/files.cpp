#include "io/host/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/strings.h"
#include "io/host/descriptor.h"
#include "io/host/mapped_ranges.h"

namespace tapml {

namespace {

bool out_of_space(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

Error write_error(const std::string& path, int error) {
  if (out_of_space(error)) {
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

Error read_error(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    return user_error(path + " does not exist", path, "a file", "nothing");
  }
  return user_error("cannot read " + path, path, "a file that can be read", std::strerror(error));
}

struct OpenFile {
  std::unique_ptr<Descriptor> descriptor;
  size_t size = 0;
  struct stat info = {};
};

Result<OpenFile> open_regular(const std::string& path) {
  // Non-blocking: opening a pipe must not wait for a writer that never comes.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(read_error(path, errno));
  OpenFile file{std::make_unique<Descriptor>(fd)};
  struct stat& info = file.info;
  if (::fstat(fd, &info) != 0) return fail(read_error(path, errno));
  if (!S_ISREG(info.st_mode)) {
    return fail(user_error(path + " is not a regular file", path, "a file",
                           S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket"));
  }
  file.size = static_cast<size_t>(info.st_size);
  return file;
}

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

Result<MappedFile> map_file(const std::string& path) {
  TAPML_ASSIGN(OpenFile file, open_regular(path));
  if (file.size == 0) return MappedFile{};  // mmap refuses an empty range
  void* memory = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.descriptor->get(), 0);
  if (memory == MAP_FAILED) {
    if (errno == ENOMEM) {
      return fail(
          platform_error(PlatformFault::kOutOfMemory, "no address space to map " + path, path));
    }
    return fail(read_error(path, errno));
  }
  return MappedFile{{static_cast<const std::byte*>(memory), file.size},
                    watch_mapping(memory, file.size, path, file.info)};
}

Result<std::string> read_text_file(const std::string& path, size_t max_bytes) {
  TAPML_ASSIGN(OpenFile file, open_regular(path));
  if (file.size > max_bytes) {
    return fail(user_error(path + " is too large", path,
                           "at most " + std::to_string(max_bytes) + " bytes",
                           std::to_string(file.size) + " bytes"));
  }
  std::string text(file.size, '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    ssize_t got = ::read(file.descriptor->get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(read_error(path, errno));
    if (got == 0) break;  // the file has shrunk
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

Status write_file_atomic(const std::string& path, std::span<const std::byte> bytes) {
  return write_pieces_atomic(path, {&bytes, 1});
}

Status write_pieces_atomic(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces) {
  struct stat existing = {};
  if (::stat(path.c_str(), &existing) == 0 && S_ISDIR(existing.st_mode)) {
    return fail(write_error(path, EISDIR));
  }
  std::string temporary = temporary_name(path);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return fail(write_error(path, errno));
  int error = 0;
  for (size_t i = 0; i < pieces.size() && error == 0; ++i) error = write_all(file.get(), pieces[i]);
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  int close_error = file.close();
  if (error == 0) error = close_error;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return fail(write_error(path, error));
  }
  return {};
}

Status check_writable(const std::string& path) {
  struct stat existing = {};
  if (::stat(path.c_str(), &existing) == 0 && S_ISDIR(existing.st_mode)) {
    return fail(write_error(path, EISDIR));
  }
  std::string temporary = temporary_name(path);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return fail(write_error(path, errno));
  ::unlink(temporary.c_str());
  return {};
}

Status write_text_atomic(const std::string& path, std::string_view text) {
  return write_file_atomic(path, std::as_bytes(std::span(text)));
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  bool is_folder = !error && std::filesystem::is_directory(path, error);
  if (is_folder) return {};
  if (error && out_of_space(error.value())) return fail(write_error(path, error.value()));
  return fail(user_error("cannot make the folder " + path, path, "a path where folders can be made",
                         error ? error.message() : "a file of that name"));
}

}  // namespace tapml
