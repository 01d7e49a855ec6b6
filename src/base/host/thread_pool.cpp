#include "base/host/thread_pool.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/host/pause.h"

namespace tapml {

namespace {

// Ranges per thread: enough to even out uneven iterations, few enough to stay cheap.
constexpr int64_t kRangesPerThread = 4;
// About 50 microseconds: longer than the gap between two kernels, shorter than anyone notices.
constexpr int kWorkerSpins = 1500;
constexpr int kCallerSpins = 4000;
// About 2 microseconds: the thread that opens the loops may share the core.
constexpr int kSpinsToYield = 64;

// `ticket` packs what workers need to join a loop in one atomic step: the loop's number, whether it
// still accepts workers, and how many are inside.
constexpr uint64_t kActiveMask = 0xffff;
constexpr uint64_t kOpen = 0x10000;
constexpr uint64_t kLoopStep = 0x20000;

}  // namespace

struct ThreadPool::State {
  // The loop. The caller writes it only while no worker is inside and none may enter.
  RangeCall call = nullptr;
  void* context = nullptr;
  int64_t extent = 0;
  int64_t range = 1;
  alignas(64) std::atomic<int64_t> next{0};

  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<bool> busy{false};  // a caller owns the loop fields
  std::atomic<int> sleepers{0};               // workers that `wake` wakes
  std::atomic<int> listeners{0};              // workers that `wake_fd` and `event` wake
  std::atomic<bool> stop{false}, idling{false};
  std::atomic<bool> used{false};  // a loop ran since wake()
  bool spin = true;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<int> wake_fd{-1}, event{-1};  // file descriptors
  std::atomic<bool> rung{false};            // the event was signaled since the last idle()
  std::vector<std::thread> workers;

  ~State() {
    if (event >= 0) ::close(event);
  }

  void work() {
    while (true) {
      int64_t begin = next.fetch_add(range, std::memory_order_relaxed);
      if (begin >= extent) return;
      call(context, begin, std::min(begin + range, extent));
    }
  }

  // Whether there may be something new for a worker that last saw `seen`.
  bool news(uint64_t seen) const {
    uint64_t now = ticket.load();
    return stop.load() || ((now & kOpen) != 0 && now / kLoopStep != seen);
  }

  void wait_for_news(uint64_t seen) {
    while (true) {
      for (int i = 0; spin && i < kWorkerSpins; ++i) {
        if (news(seen)) return;
        if (idling.load(std::memory_order_relaxed)) break;
        if (i % kSpinsToYield == kSpinsToYield - 1) std::this_thread::yield();
        pause_briefly();
      }
      if (spin && idling.load() && wake_fd.load() >= 0) {
        listen(seen);
        continue;
      }
      std::unique_lock lock(mutex);
      // Counted before the last check: a caller that opens a loop after that check sees the
      // sleeper.
      sleepers.fetch_add(1);
      if (!news(seen)) wake.wait(lock);
      sleepers.fetch_sub(1);
      if (news(seen)) return;
      // Woken too late for a short loop. More loops follow; their callers need not wake it again.
    }
  }

  // Sleeps until `wake_fd` or a loop wakes it.
  void listen(uint64_t seen) {
    // Counted before the last check, as below.
    listeners.fetch_add(1);
    if (!news(seen)) {
      pollfd files[] = {{wake_fd.load(), POLLIN, 0}, {event.load(), POLLIN, 0}};
      ::poll(files, std::size(files), -1);
    }
    listeners.fetch_sub(1);
    idling.store(false);  // the event stays signaled until it is read
  }

  // The event exists and was not signaled; it is below 0 if the process may open no more files.
  void prepare_event() {
    uint64_t count = 0;
    if (rung.exchange(false)) static_cast<void>(!::read(event.load(), &count, sizeof(count)));
    std::lock_guard lock(mutex);
    if (event < 0) event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }

  // Wakes listeners.
  void ring() {
    if (listeners.load() == 0 || rung.exchange(true)) return;
    const uint64_t one = 1;
    static_cast<void>(!::write(event.load(), &one, sizeof(one)));
  }

  void wake_sleepers() {
    if (sleepers.load() == 0) return;
    {
      std::lock_guard lock(mutex);
    }
    wake.notify_all();
  }

  void worker_main() {
    uint64_t seen = 0;
    while (true) {
      wait_for_news(seen);
      if (stop.load()) return;
      uint64_t now = ticket.load();
      bool joined = false;
      while ((now & kOpen) != 0 && now / kLoopStep != seen && !joined) {
        joined = ticket.compare_exchange_weak(now, now + 1);
      }
      if (!joined) continue;
      seen = now / kLoopStep;
      work();
      ticket.fetch_sub(1);
    }
  }
};

int ThreadPool::available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : available_cores()) {
  threads_ = std::min(threads_, static_cast<int>(kActiveMask) - 1);
  if (threads_ == 1) return;
  state_ = std::make_unique<State>();
  // With more threads than cores, a spinning worker would delay one that has work.
  state_->spin = threads_ <= available_cores();
  for (int i = 1; i < threads_; ++i) {
    state_->workers.emplace_back([state = state_.get()] { state->worker_main(); });
  }
}

ThreadPool::~ThreadPool() {
  if (!state_) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->stop.store(true);
  }
  state_->wake.notify_all();
  state_->ring();
  for (std::thread& worker : state_->workers) worker.join();
}

void ThreadPool::idle(int wake_fd) noexcept {
  if (!state_) return;
  State& state = *state_;
  const bool listens = wake_fd >= 0 && state.spin && state.used.load(std::memory_order_relaxed);
  if (listens) state.prepare_event();
  state.wake_fd.store(state.event < 0 || !listens ? -1 : wake_fd);
  state.idling.store(true);
}

void ThreadPool::wake() noexcept {
  if (!state_ || !state_->used.exchange(false, std::memory_order_relaxed)) return;
  state_->idling.store(false, std::memory_order_relaxed);
  state_->wake_sleepers();
}

void ThreadPool::run(int64_t extent, int64_t grain, void* context, RangeCall call) {
  if (extent <= 0) return;
  int64_t range = std::max<int64_t>(
      {1, grain, (extent - 1) / (static_cast<int64_t>(threads_) * kRangesPerThread) + 1});
  if (!state_ || range >= extent || state_->busy.exchange(true)) {
    call(context, 0, extent);
    return;
  }
  State& state = *state_;
  state.idling.store(false, std::memory_order_relaxed);
  state.call = call;
  state.context = context;
  state.extent = extent;
  state.range = range;
  state.next.store(0, std::memory_order_relaxed);
  state.ticket.fetch_add(kLoopStep + kOpen);
  state.used.store(true, std::memory_order_relaxed);
  state.wake_sleepers();
  state.ring();
  state.work();
  // Workers that have not joined by now are not waited for: no work is left for them.
  state.ticket.fetch_sub(kOpen);
  for (int spins = 0; (state.ticket.load() & kActiveMask) != 0; ++spins) {
    if (spins < kCallerSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
  state.busy.store(false);
}

}  // namespace tapml
