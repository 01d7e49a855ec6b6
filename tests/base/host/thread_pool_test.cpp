#include "base/host/thread_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tapml {
namespace {

TEST(ThreadPoolTest, EveryIterationRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t extent : {0, 1, 2, 7, 8, 9, 31, 32, 33, 1000, 4097}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(extent));
      pool.parallel_for(extent, [&](int64_t begin, int64_t end) {
        ASSERT_LT(begin, end);
        ASSERT_LE(end, extent);
        for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
      for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1) << threads << " " << extent;
    }
  }
}

TEST(ThreadPoolTest, NegativeExtentRunsNothing) {
  ThreadPool pool(2);
  pool.parallel_for(-5, [](int64_t, int64_t) { FAIL(); });
}

TEST(ThreadPoolTest, RangesHaveAtLeastTheGrain) {
  ThreadPool pool(4);
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  pool.parallel_for(
      1000,
      [&](int64_t begin, int64_t end) {
        std::lock_guard lock(mutex);
        ranges.emplace_back(begin, end);
      },
      300);
  EXPECT_EQ(ranges.size(), 4u);
  for (auto [begin, end] : ranges) EXPECT_TRUE(end - begin == 300 || end == 1000);
}

TEST(ThreadPoolTest, OneThreadStaysOnTheCaller) {
  ThreadPool pool(1);
  std::thread::id caller = std::this_thread::get_id();
  int calls = 0;
  pool.parallel_for(100, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 100);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(ThreadPoolTest, WorkersTakePart) {
  ThreadPool pool(4);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int round = 0; round < 50 && seen.size() < 2; ++round) {
    pool.parallel_for(16, [&](int64_t, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  EXPECT_GE(seen.size(), 2u);
}

TEST(ThreadPoolTest, NestedLoopsRunInline) {
  ThreadPool pool(3);
  std::atomic<int64_t> total{0};
  pool.parallel_for(20, [&](int64_t begin, int64_t end) {
    std::thread::id outer = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i) {
      pool.parallel_for(10, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        total += e - b;
      });
    }
  });
  EXPECT_EQ(total.load(), 200);
}

TEST(ThreadPoolTest, ManyShortLoopsWithSleepsBetween) {
  ThreadPool pool(3);
  std::atomic<int64_t> total{0};
  for (int i = 0; i < 20000; ++i) {
    pool.parallel_for(12, [&](int64_t begin, int64_t end) { total += end - begin; });
    if (i % 2000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(total.load(), 20000 * 12);
}

TEST(ThreadPoolTest, IdleWorkersResume) {
  ThreadPool pool(2), alone(1);
  alone.idle();
  alone.wake();
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 300; ++i) {
    pool.idle();
    if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (i % 2 == 0) pool.wake();
    if (i % 5 == 0) pool.wake();
    pool.parallel_for(64, [&](int64_t begin, int64_t end) { sum += end - begin; });
    if (i % 3 == 0) pool.idle();
  }
  EXPECT_EQ(sum, 300 * 64);
}

// A loop that ends only when both threads of the pool are in it.
void meet(ThreadPool& pool) {
  std::atomic<int> inside{0};
  pool.parallel_for(2, [&](int64_t begin, int64_t end) {
    inside += static_cast<int>(end - begin);
    while (inside < 2) std::this_thread::yield();
  });
}

TEST(ThreadPoolTest, WorkersThatPollAWakeFdJoinLoops) {
  std::array<int, 2> files = {};
  ASSERT_EQ(::pipe(files.data()), 0);
  {
    ThreadPool pool(2);
    for (int i = 0; i < 300; ++i) {
      meet(pool);
      pool.idle(files[0]);
      if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (i % 3 == 0) continue;  // a loop without an announcement
      char byte = 1;
      ASSERT_EQ(::write(files[1], &byte, 1), 1);
      if (i % 50 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ASSERT_EQ(::read(files[0], &byte, 1), 1);
      pool.wake();
    }
    meet(pool);
    pool.idle(files[0]);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }  // while the workers listen
  {
    ThreadPool pool(2);
    meet(pool);
    ::close(files[1]);  // from here on the wake fd is always readable
    for (int i = 0; i < 20; ++i) {
      pool.idle(files[0]);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      meet(pool);
    }
  }
  ::close(files[0]);
}

TEST(ThreadPoolTest, SeveralCallersShareAPool) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        pool.parallel_for(50, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 2000 * 50);
}

TEST(ThreadPoolTest, ResultsOfABodyAreVisibleToTheCaller) {
  ThreadPool pool(2);
  std::vector<int64_t> values(1000);
  for (int64_t round = 0; round < 200; ++round) {
    pool.parallel_for(1000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] = i * round;
    });
    int64_t sum = 0;
    for (int64_t value : values) sum += value;
    ASSERT_EQ(sum, round * 999 * 1000 / 2);
  }
}

}  // namespace
}  // namespace tapml
