#include "io/host/disk_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <tuple>

#include "base/hmac.h"
#include "base/log.h"
#include "io/host/descriptor.h"
#include "io/host/files.h"
#include "io/host/key_file.h"
#include "io/host/private_folder.h"

namespace tapml {

namespace {

namespace fs = std::filesystem;

// The folder of the current entry layout; another layout uses another folder.
constexpr const char* kVersionFolder = "v1";
constexpr const char* kKeyFile = "key";
constexpr const char* kCountersFile = "counters";
constexpr const char* kBoundFile = "max-bytes";
constexpr std::array<char, 8> kMagic = {'T', 'A', 'P', 'M', 'L', 'C', 'E', '\n'};
constexpr size_t kSumAt = 16;
constexpr size_t kHeaderSize = kSumAt + sizeof(Sha256Digest);  // magic, size, authentication code
constexpr time_t kStaleSeconds = 3600;

std::optional<std::vector<std::byte>> read_whole(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::vector<std::byte> bytes(static_cast<size_t>(info.st_size));
  size_t filled = 0;
  while (filled < bytes.size()) {
    ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    filled += static_cast<size_t>(got);
  }
  return bytes;
}

// The code covers the entry's name, so an entry under another name is not accepted; the lengths
// come first, so no other name and bytes form the same message.
Sha256Digest entry_code(const HmacKey& secret, const std::string& name,
                        std::span<const std::byte> bytes) {
  const std::array<uint64_t, 2> sizes = {name.size(), bytes.size()};
  return hmac_sha256(secret,
                     {std::as_bytes(std::span(sizes)), std::as_bytes(std::span(name)), bytes});
}

// Whether a process that has the secret stored these bytes under this name.
bool is_entry(const HmacKey& secret, const std::string& name, std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderSize) return false;
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) return false;
  uint64_t size = 0;
  std::memcpy(&size, bytes.data() + kMagic.size(), sizeof size);
  if (size != bytes.size() - kHeaderSize) return false;
  Sha256Digest code;
  std::memcpy(code.data(), bytes.data() + kSumAt, sizeof code);
  return same_digest(code, entry_code(secret, name, bytes.subspan(kHeaderSize)));
}

bool is_key(std::string_view key) {
  return key.size() >= 8 && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Reads numbers with any separators; missing ones keep their values.
template <size_t N>
void read_numbers(std::string_view text, std::array<int64_t, N>& numbers) {
  const char* at = text.data();
  const char* end = at + text.size();
  for (int64_t& number : numbers) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    int64_t value = 0;
    auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return;
    number = value;
    at = stop;
  }
}

std::string fault_text(const FolderFault& fault) {
  return fault.hint.empty() ? fault.reason : fault.reason + "; " + fault.hint;
}

struct CacheEntry {
  fs::path path;
  int64_t size = 0;
  std::pair<int64_t, int64_t> used;  // seconds, nanoseconds
};

}  // namespace

std::string default_cache_folder() {
  // The specification says to ignore a relative XDG_CACHE_HOME.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && cache[0] == '/') {
    return std::string(cache) + "/tapml";
  }
  const char* home = std::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + "/.cache/tapml" : "";
}

struct DiskCache::State {
  DiskCacheOptions options;
  std::mutex mutex;
  std::atomic<int64_t> hits{0}, misses{0};
  bool checked = false, readable = false, writable = false;
  bool warned = false;
  HmacKey secret = {};
  int64_t grown = 0;  // bytes stored since the last check of the bound

  fs::path entries_folder() const { return fs::path(options.folder) / kVersionFolder; }
  fs::path entry_path(const std::string& key) const {
    return entries_folder() / key.substr(0, 2) / key.substr(2);
  }

  // Requires the lock. `why` completes "... is not used: ".
  void give_up(const std::string& why) {
    writable = false;
    if (std::exchange(warned, true) || !options.warn) return;
    options.warn(options.what + " " + options.folder + " is not used: " + why);
  }

  // Why the folder cannot be used; empty if it can, or does not exist yet. Code from it is run, so
  // nobody else may write to it.
  std::optional<FolderFault> fault() const {
    if (options.folder.empty()) return FolderFault{"", "no folder for it is known", ""};
    return find_folder_fault(options.folder);
  }

  // Creates the folder if it is missing.
  void open() {
    if (std::exchange(checked, true)) return;
    if (options.folder.empty()) return give_up("no folder for it is known");
    // Before anything is created in a folder that others may control.
    if (const auto found = fault()) return give_up(fault_text(*found));
    std::error_code error;
    fs::create_directories(fs::path(options.folder).parent_path(), error);
    if (::mkdir(options.folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return give_up(std::strerror(errno));
    }
    if (const auto found = fault()) return give_up(fault_text(*found));
    auto key = open_key_file(options.folder + "/" + kKeyFile);
    if (const auto* why = std::get_if<std::string>(&key)) return give_up(*why);
    secret = std::get<HmacKey>(key);
    readable = writable = true;
    if (::mkdir(entries_folder().c_str(), 0700) != 0 && errno != EEXIST) {
      give_up(std::strerror(errno));
    }
  }

  // Returns 0 or errno. No fsync: an entry that a system crash leaves incomplete fails its
  // checksum.
  int write(const fs::path& path, std::span<const std::byte> head,
            std::span<const std::byte> bytes) {
    static std::atomic<unsigned> counter{0};
    std::string name = (entries_folder() / (".tmp-" + std::to_string(::getpid()) + "-" +
                                            std::to_string(counter.fetch_add(1))))
                           .string();
    Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.get() < 0) return errno;
    int error = write_all(file.get(), head);
    if (error == 0) error = write_all(file.get(), bytes);
    if (error == 0 && ::rename(name.c_str(), path.c_str()) != 0) error = errno;
    if (error == ENOENT) {
      error = ::mkdir(path.parent_path().c_str(), 0700) != 0 && errno != EEXIST ? errno : 0;
      if (error == 0 && ::rename(name.c_str(), path.c_str()) != 0) error = errno;
    }
    if (error != 0) ::unlink(name.c_str());
    return error;
  }

  // All entries, and temporary files left by a crash.
  std::vector<CacheEntry> list(std::vector<fs::path>* stale = nullptr) const {
    std::vector<CacheEntry> entries;
    std::error_code error;
    fs::recursive_directory_iterator it(entries_folder(), error), end;
    for (; !error && it != end; it.increment(error)) {
      struct stat info = {};
      if (::lstat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      if (it->path().filename().string().starts_with(".tmp-")) {
        if (stale && info.st_mtim.tv_sec + kStaleSeconds < std::time(nullptr)) {
          stale->push_back(it->path());
        }
        continue;
      }
      entries.push_back({it->path(),
                         static_cast<int64_t>(info.st_size),
                         {info.st_mtim.tv_sec, info.st_mtim.tv_nsec}});
    }
    return entries;
  }

  int64_t max_bytes() const {
    if (options.max_bytes > 0) return options.max_bytes;
    std::array<int64_t, 1> bound = {kDefaultCacheBytes};
    if (auto text = read_text_file(options.folder + "/" + kBoundFile, 64)) {
      read_numbers(*text, bound);
    }
    return bound[0];
  }

  void trim() {
    grown = 0;
    std::vector<fs::path> stale;
    std::vector<CacheEntry> entries = list(&stale);
    std::error_code ignored;
    for (const fs::path& path : stale) fs::remove(path, ignored);
    int64_t total = 0, bound = max_bytes();
    for (const CacheEntry& entry : entries) total += entry.size;
    if (total <= bound) return;
    std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
      return std::tie(a.used, a.path) < std::tie(b.used, b.path);
    });
    for (const CacheEntry& entry : entries) {
      if (total <= bound) break;
      fs::remove(entry.path, ignored);
      total -= entry.size;
    }
  }

  std::array<int64_t, 2> counters() const {
    std::array<int64_t, 2> counts = {0, 0};
    if (auto text = read_text_file(options.folder + "/" + kCountersFile, 128)) {
      read_numbers(*text, counts);
    }
    return counts;
  }

  // Under a lock on the file, so that no process loses its counts.
  void add_to_counters() {
    std::string path = options.folder + "/" + kCountersFile;
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (file.get() < 0 || ::flock(file.get(), LOCK_EX) != 0) return;
    std::array<int64_t, 2> counts = counters();
    std::string text = std::to_string(counts[0] + hits) + " hits, " +
                       std::to_string(counts[1] + misses) + " misses\n";
    if (::ftruncate(file.get(), 0) == 0) {
      std::ignore = ::pwrite(file.get(), text.data(), text.size(), 0);
    }
  }
};

DiskCache::DiskCache(DiskCacheOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}

DiskCache::~DiskCache() {
  std::lock_guard lock(state_->mutex);
  if (!state_->writable) return;
  if (state_->hits + state_->misses > 0) state_->add_to_counters();
  if (state_->grown > 0) state_->trim();
}

std::optional<std::vector<std::byte>> DiskCache::get(const std::string& key) {
  std::string path;
  HmacKey secret;
  {
    std::lock_guard lock(state_->mutex);
    state_->open();
    if (!state_->readable || !is_key(key)) return {};
    secret = state_->secret;
    path = state_->entry_path(key).string();
  }
  auto bytes = read_whole(path);
  if (!bytes) {
    ++state_->misses;
    return {};
  }
  if (!is_entry(secret, key, *bytes)) {
    log_warning("an entry of " + state_->options.what + " was altered and is removed: " + path);
    ::unlink(path.c_str());
    ++state_->misses;
    return {};
  }
  ++state_->hits;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // marks it as used; failures do not matter
  bytes->erase(bytes->begin(), bytes->begin() + kHeaderSize);
  return bytes;
}

void DiskCache::put(const std::string& key, std::span<const std::byte> bytes) {
  std::lock_guard lock(state_->mutex);
  state_->open();
  if (!state_->writable || !is_key(key)) return;
  std::array<std::byte, kHeaderSize> head;
  const uint64_t size = bytes.size();
  const Sha256Digest code = entry_code(state_->secret, key, bytes);
  std::memcpy(head.data(), kMagic.data(), kMagic.size());
  std::memcpy(head.data() + kMagic.size(), &size, sizeof size);
  std::memcpy(head.data() + kSumAt, code.data(), sizeof code);
  if (int error = state_->write(state_->entry_path(key), head, bytes)) {
    return state_->give_up(std::strerror(error));
  }
  state_->grown += static_cast<int64_t>(kHeaderSize + bytes.size());
  if (state_->grown > state_->max_bytes() / 8) state_->trim();
}

int64_t DiskCache::hits() const { return state_->hits; }
int64_t DiskCache::misses() const { return state_->misses; }

Status DiskCache::check() {
  std::lock_guard lock(state_->mutex);
  const DiskCacheOptions& options = state_->options;
  const auto found = state_->fault();
  std::string why = found ? found->reason : "";
  // A folder without read permission would look empty.
  const fs::path entries = state_->entries_folder();
  if (why.empty() && ::access(entries.c_str(), R_OK | X_OK) != 0 && errno != ENOENT) {
    why = std::strerror(errno);
  }
  if (why.empty()) return {};
  if (options.folder.empty()) {
    return fail(user_error(options.what + " cannot be used", "environment",
                           "HOME, XDG_CACHE_HOME or TAPML_CACHE", why));
  }
  return fail(user_error(options.what + " cannot be used", options.folder,
                         "a folder of yours that nobody else can write to", why,
                         found ? found->hint : ""));
}

DiskCache::Summary DiskCache::summary() {
  std::lock_guard lock(state_->mutex);
  Summary summary;
  summary.folder = state_->options.folder;
  for (const CacheEntry& entry : state_->list()) {
    ++summary.entries;
    summary.bytes += entry.size;
  }
  summary.max_bytes = state_->max_bytes();
  auto counts = state_->counters();
  summary.hits = counts[0] + state_->hits;
  summary.misses = counts[1] + state_->misses;
  return summary;
}

Result<int64_t> DiskCache::clear() {
  std::lock_guard lock(state_->mutex);
  auto count = static_cast<int64_t>(state_->list().size());
  std::error_code error;
  fs::remove_all(state_->entries_folder(), error);
  if (!error) fs::remove(state_->options.folder + "/" + kCountersFile, error);
  if (error) {
    return fail(user_error("the compile cache cannot be cleared", state_->options.folder,
                           "a folder that can be written to", error.message()));
  }
  state_->checked = state_->readable = state_->writable = false;
  state_->grown = 0;
  state_->hits = state_->misses = 0;
  return count;
}

Status DiskCache::set_max_bytes(int64_t bytes) {
  std::lock_guard lock(state_->mutex);
  state_->open();
  if (!state_->writable) {
    return fail(user_error("the compile cache cannot be bounded", state_->options.folder,
                           "a folder of yours that you can write to"));
  }
  TAPML_TRY(
      write_text_atomic(state_->options.folder + "/" + kBoundFile, std::to_string(bytes) + "\n"));
  state_->trim();
  return {};
}

}  // namespace tapml
