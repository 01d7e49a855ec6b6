#include "io/host/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/strings.h"
#include "io/host/atomic_file.h"
#include "io/host/descriptor.h"
#include "io/host/mapped_ranges.h"

namespace tapml {

namespace {

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
  TAPML_ASSIGN(const auto file, AtomicFile::create(path));
  for (const std::span<const std::byte> piece : pieces) TAPML_TRY(file->write(piece));
  return file->commit();
}

Status check_writable(const std::string& path) {
  TAPML_ASSIGN(const auto file, AtomicFile::create(path));
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
  if (error == std::errc::no_space_on_device || error.value() == EDQUOT) {
    return fail(write_error(path, error.value()));
  }
  return fail(user_error("cannot make the folder " + path, path, "a path where folders can be made",
                         error ? error.message() : "a file of that name"));
}

}  // namespace tapml
