// A persistent pool of threads for loops whose iterations are independent.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tapml {

// Workers spin briefly after a loop and then sleep, so that loops in quick succession start within
// microseconds and an idle pool costs nothing. The calling thread works too.
class ThreadPool {
 public:
  // `threads` counts the caller: 1 has no worker. 0: one for each core that the process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(begin, end) for ranges that partition [0, extent), each of at least `grain`
  // iterations (but the last), in any order and on any threads of the pool; returns when all are
  // done. The body must not throw. A call from inside a body, or while another thread's loop uses
  // the pool, runs inline on the calling thread.
  template <class Body>
  void parallel_for(int64_t extent, Body&& body, int64_t grain = 1) {
    using Plain = std::remove_reference_t<Body>;
    run(extent, grain, const_cast<void*>(static_cast<const void*>(std::addressof(body))),
        [](void* context, int64_t begin, int64_t end) {
          (*static_cast<Plain*>(context))(begin, end);
        });
  }

  // Tells the pool that no loop follows soon: workers sleep until there is one, so that the next
  // thread to wake finds a core. `wake_fd`: a file descriptor that becomes readable when loops are
  // about to follow, -1 for none. If there were loops since wake(), workers also wait on it: the
  // thread that reads it would wake them later and at its own cost.
  void idle(int wake_fd = -1) noexcept;
  // Wakes sleeping workers because loops follow at once. Does nothing if no loop followed the last
  // call.
  void wake() noexcept;

  // Number of cores that this process may run on (respects affinity), at least 1.
  static int available_cores();

 private:
  struct State;
  using RangeCall = void (*)(void* context, int64_t begin, int64_t end);

  void run(int64_t extent, int64_t grain, void* context, RangeCall call);

  int threads_;
  std::unique_ptr<State> state_;  // null if threads_ is 1
};

}  // namespace tapml
