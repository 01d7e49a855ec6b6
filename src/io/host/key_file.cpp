#include "io/host/key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "io/host/descriptor.h"

namespace tapml {

namespace {

using KeyOrReason = std::variant<HmacKey, std::string>;

std::string key_fault(const std::string& path, int error) {
  return "its key file " + path + ": " + std::strerror(error);
}

KeyOrReason read_key(int fd, const std::string& path) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return key_fault(path, errno);
  const std::string name = "its key file " + path;
  // Others may have read or made it: it has to be replaced, not chmod-ed.
  const std::string hint = "; rm " + path;
  if (!S_ISREG(info.st_mode)) return name + " is not a regular file" + hint;
  if (info.st_uid != ::geteuid()) return name + " belongs to another user" + hint;
  if ((info.st_mode & 0777) != 0600) return name + " does not have mode 0600" + hint;
  HmacKey key;
  size_t filled = 0;
  while (filled < key.size()) {
    const ssize_t got = ::read(fd, key.data() + filled, key.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  if (filled != key.size() || info.st_size != static_cast<off_t>(key.size())) {
    return name + " does not have 32 bytes" + hint;
  }
  return key;
}

// Returns 0 or errno; EEXIST if another process was first. A link, not a rename, which would
// replace a key that is in use.
int make_key(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  HmacKey key;
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) return EIO;
  const std::string name =
      path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
  Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) return errno;
  int error = ::fchmod(file.get(), 0600) == 0 ? 0 : errno;
  if (error == 0) error = write_all(file.get(), key);
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (error == 0 && ::link(name.c_str(), path.c_str()) != 0) error = errno;
  ::unlink(name.c_str());
  return error;
}

}  // namespace

KeyOrReason open_key_file(const std::string& path) {
  for (bool made = false;; made = true) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() >= 0) return read_key(file.get(), path);
    if (errno != ENOENT || made) return key_fault(path, errno);
    if (const int error = make_key(path); error != 0 && error != EEXIST) {
      return key_fault(path, error);
    }
  }
}

}  // namespace tapml
