#include "io/host/folder_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace tapml {

Result<std::unique_ptr<FolderWatch>> FolderWatch::open(const std::string& folder) noexcept {
  const int descriptor = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (descriptor < 0) {
    return fail(platform_error(PlatformFault::kLimit,
                               std::string("cannot watch files: ") + std::strerror(errno), folder));
  }
  std::unique_ptr<FolderWatch> watch(new (std::nothrow) FolderWatch(descriptor));
  if (!watch) {
    ::close(descriptor);
    return fail(platform_error(PlatformFault::kOutOfMemory, "no memory", folder));
  }
  // Editors write the file itself, or rename another file to it.
  if (::inotify_add_watch(descriptor, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR) <
      0) {
    return fail(user_error("cannot watch the folder", folder, "a folder of this machine",
                           std::strerror(errno)));
  }
  return watch;
}

FolderWatch::~FolderWatch() { ::close(descriptor_); }

std::vector<std::string> FolderWatch::wait(std::chrono::milliseconds longest) noexcept {
  pollfd wanted{descriptor_, POLLIN, 0};
  std::vector<std::string> names;
  if (::poll(&wanted, 1, static_cast<int>(longest.count())) <= 0) return names;
  alignas(inotify_event) std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t size = ::read(descriptor_, bytes.data(), bytes.size());
    if (size <= 0) return names;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, bytes.data() + at, sizeof event);
      names.emplace_back(event.len > 0 ? bytes.data() + at + sizeof event : "");
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

}  // namespace tapml
