#include "io/host/mapped_ranges.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tapml {

namespace {

// Read by the signal handler. `begin` is written last when a range is added, and first when it is
// removed; a slot is free while it is 0.
struct RangeSlot {
  std::atomic<uintptr_t> begin = 0;
  std::atomic<size_t> size = 0;
  std::atomic<bool> lost = false;
};
static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler reads them");

// Blocks are never freed, so the handler may walk them at any time.
struct RangeBlock {
  std::array<RangeSlot, 256> slots;
  std::atomic<RangeBlock*> next = nullptr;
};

struct MappedPath {
  std::string path;
  struct stat info = {};
};

RangeBlock g_first_ranges;
std::atomic<bool> g_any_range_lost = false;
size_t g_page_bytes = 4096;
struct sigaction g_earlier_bus_action = {};

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Empty if the file is unchanged since it was mapped. `lost`: a part of it could not be read.
std::optional<Error> change_of(const MappedPath& mapped, bool lost) {
  struct stat now = {};
  const bool there = ::stat(mapped.path.c_str(), &now) == 0;
  const bool same = there && now.st_dev == mapped.info.st_dev && now.st_ino == mapped.info.st_ino;
  const bool written =
      same && (now.st_size != mapped.info.st_size || !same_time(now.st_mtim, mapped.info.st_mtim));
  if (!lost && !written) return {};
  std::string found = std::to_string(now.st_size) + " bytes";
  if (!there) {
    found = "a file that was truncated and removed";
  } else if (!same) {
    found = "a truncated file, replaced by another one of " + found;
  } else if (!written) {
    found = "bytes that cannot be read from the disk";
  } else if (now.st_size == mapped.info.st_size) {
    found += ", modified meanwhile";
  }
  return user_error("a file changed while it was in use: " + mapped.path, mapped.path,
                    std::to_string(mapped.info.st_size) + " bytes, unchanged", found,
                    "start again without modifying the file: work on a copy");
}

class MappedRanges {
 public:
  RangeSlot* add(void* memory, size_t size, MappedPath path) {
    const std::lock_guard lock(mutex_);
    RangeSlot* slot = take_slot();
    slot->size.store(size);
    slot->lost.store(false);
    slot->begin.store(reinterpret_cast<uintptr_t>(memory));
    paths_.emplace(slot, std::move(path));
    return slot;
  }

  void remove(RangeSlot* slot) {
    const std::lock_guard lock(mutex_);
    if (slot->lost.load()) {
      if (auto change = change_of(paths_.at(slot), true)) gone_.push_back(std::move(*change));
    }
    slot->begin.store(0);
    paths_.erase(slot);
    free_.push_back(slot);
  }

  Status check(bool written) {
    const std::lock_guard lock(mutex_);
    if (!gone_.empty()) {
      Error error = std::move(gone_.front());
      gone_.pop_front();
      return fail(std::move(error));
    }
    bool any_lost = false;
    for (const auto& [slot, path] : paths_) {
      const bool lost = slot->lost.load();
      any_lost |= lost;
      if (!lost && !written) continue;
      if (auto change = change_of(path, lost)) return fail(std::move(*change));
    }
    if (!any_lost) g_any_range_lost.store(false);
    return {};
  }

 private:
  RangeSlot* take_slot() {
    if (free_.empty()) {
      RangeBlock* block = last_ == nullptr ? &g_first_ranges : new RangeBlock();
      if (last_ != nullptr) last_->next.store(block);
      last_ = block;
      for (RangeSlot& slot : block->slots) free_.push_back(&slot);
    }
    RangeSlot* slot = free_.back();
    free_.pop_back();
    return slot;
  }

  std::mutex mutex_;
  std::map<RangeSlot*, MappedPath> paths_;
  std::vector<RangeSlot*> free_;
  RangeBlock* last_ = nullptr;
  std::deque<Error> gone_;  // of lost mappings that are no longer held
};

// Never destroyed: static objects may hold mappings.
MappedRanges& mapped_ranges() {
  static MappedRanges& ranges = *new MappedRanges();
  return ranges;
}

RangeSlot* find_range(uintptr_t address) noexcept {
  for (RangeBlock* block = &g_first_ranges; block != nullptr; block = block->next.load()) {
    for (RangeSlot& slot : block->slots) {
      const uintptr_t begin = slot.begin.load();
      if (begin != 0 && address >= begin && address - begin < slot.size.load()) return &slot;
    }
  }
  return nullptr;
}

// Acts as if this handler were not installed.
void chain_bus_fault(int signal, siginfo_t* info, void* context) {
  const struct sigaction& earlier = g_earlier_bus_action;
  if ((earlier.sa_flags & SA_SIGINFO) != 0 && earlier.sa_sigaction != nullptr) {
    earlier.sa_sigaction(signal, info, context);
  } else if (earlier.sa_handler == SIG_IGN && info->si_code <= 0) {
    return;  // sent by a process, and ignored
  } else if (earlier.sa_handler == SIG_DFL || earlier.sa_handler == SIG_IGN) {
    // A fault recurs when the handler returns; a signal from a process does not.
    ::signal(signal, SIG_DFL);
    if (info->si_code <= 0) ::raise(signal);
  } else {
    earlier.sa_handler(signal);
  }
}

void on_bus_fault(int signal, siginfo_t* info, void* context) {
  if (!mend_mapping(signal, *info)) chain_bus_fault(signal, info, context);
}

void install_bus_handler() {
  g_page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  ::sigaction(SIGBUS, nullptr,
              &g_earlier_bus_action);  // stored completely before the handler can need it
  struct sigaction action = {};
  action.sa_sigaction = on_bus_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

std::shared_ptr<const void> watch_mapping(void* memory, size_t size, const std::string& path,
                                          const struct stat& info) {
  static std::once_flag installed;
  std::call_once(installed, install_bus_handler);
  RangeSlot* slot = mapped_ranges().add(memory, size, {path, info});
  return {memory, [size, slot](const void* block) {
            mapped_ranges().remove(slot);
            ::munmap(const_cast<void*>(block), size);
          }};
}

Status check_lost_files() {
  return g_any_range_lost.load() ? mapped_ranges().check(false) : Status();
}

Status check_mapped_files() { return mapped_ranges().check(true); }

bool mend_mapping(int signal, const siginfo_t& info) noexcept {
  if (signal != SIGBUS || info.si_code <= 0) return false;
  const auto address = reinterpret_cast<uintptr_t>(info.si_addr);
  RangeSlot* slot = find_range(address);
  if (slot == nullptr) return false;
  // The pages after a lost one are lost too.
  const uintptr_t page = address & ~(g_page_bytes - 1);
  const size_t rest = slot->begin.load() + slot->size.load() - page;
  const int kept = errno;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of a fault
  void* const zeros = ::mmap(reinterpret_cast<void*>(page), rest, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  errno = kept;
  if (zeros == MAP_FAILED) return false;
  slot->lost.store(true);
  g_any_range_lost.store(true);
  return true;
}

}  // namespace tapml
