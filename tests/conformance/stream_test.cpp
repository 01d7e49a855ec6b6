// Streams, events and kernels: the same on every platform.
#include <chrono>
#include <numeric>
#include <thread>

#include "conformance/platforms.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::EventId;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::ModuleId;
using runtime::StreamId;

using StreamConformance = Conformance;
TAPML_CONFORMANCE(StreamConformance);

TEST_P(StreamConformance, KernelsComputeWithOffsets) {
  if (!computes()) GTEST_SKIP() << "computes nothing";
  KernelId add = kernel("add");
  BufferId all = buffer(4096);
  std::vector<float> values(1024, 0.0f);
  // Multiples of the strictest alignment, 256 bytes.
  for (size_t i = 0; i < 300; ++i) values[i + 64] = static_cast<float>(i);
  for (size_t i = 0; i < 300; ++i) values[i + 384] = 0.5f;
  write(BufferRange{all, 0}, values);
  // Extents around the sizes of work groups and of the threads' shares.
  for (int64_t extent : {1, 2, 63, 64, 65, 127, 300}) {
    ASSERT_TRUE(session().fill_zero(kDefaultStream, {all, 704 * 4}, 320 * 4));
    ASSERT_TRUE(launch(add, {{all, 64 * 4}, {all, 384 * 4}, {all, 704 * 4}}, {}, extent));
    std::vector<float> result = read<float>({all, 704 * 4}, 320);
    for (int64_t i = 0; i < 320; ++i) {
      ASSERT_EQ(result[i], i < extent ? static_cast<float>(i) + 0.5f : 0.0f)
          << "element " << i << " of " << extent;
    }
  }
}

TEST_P(StreamConformance, MoreWorkItemsThanWorkGroupsHaveThreads) {
  if (!computes()) GTEST_SKIP() << "computes nothing";
  constexpr int64_t kCount = 1 << 20;
  BufferId id = buffer(kCount * 4);
  ASSERT_TRUE(launch(kernel("ramp"), {{id, 0}}, {-5, 3}, kCount, 32));
  std::vector<int32_t> values = read<int32_t>({id, 0}, kCount);
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], -5 + 3 * i);
}

TEST_P(StreamConformance, AnExtentOfZeroLaunchesNothing) {
  BufferId id = buffer(4);
  write(BufferRange{id, 0}, std::vector<int32_t>{17});
  EXPECT_TRUE(launch(kernel("ramp"), {{id, 0}}, {1, 1}, 0));
  EXPECT_EQ(read<int32_t>({id, 0}, 1), std::vector<int32_t>{17});
}

// Launches that a local device may submit as one, again and again, as the steps of a model are: the
// same kernels on the same memory, with other contents.
TEST_P(StreamConformance, BatchesRunInOrderEachTime) {
  runtime::LocalSession* local = session().local();  // batches are made beside the device
  const std::string entry = "fold";
  const KernelId fold = kernel(entry);
  const auto object = local ? local->kernel(fold) : nullptr;
  std::vector<uint32_t> expected(64);
  std::iota(expected.begin(), expected.end(), 0u);
  BufferId id = buffer(256);
  write(BufferRange{id, 0}, expected);
  auto batch = [&](uint32_t first, uint32_t count) {
    const auto memory = local ? local->memory(id) : nullptr;
    if (local) local->begin_batch(kDefaultStream);
    for (uint32_t step = first; step < first + count; ++step) {
      const runtime::BufferArg range{memory.get(), 0};
      const int64_t scalars[] = {step};
      runtime::LaunchArgs args;
      args.buffers = std::span(&range, 1);
      args.scalars = scalars;
      args.extent = 64;
      ASSERT_TRUE(local ? local->launch(kDefaultStream, *object, entry, args)
                        : launch(fold, {{id, 0}}, {step}, 64));
      for (uint32_t& value : expected) {
        if (computes()) value = value * 3u + step;
      }
    }
    if (local) local->end_batch(kDefaultStream);
  };
  for (int repeat = 0; repeat < 40; ++repeat) {
    // Equal ones, with a wait between and without; more than are kept; one beyond a submission.
    batch(0, 9);
    if (repeat % 3 == 0) {
      ASSERT_EQ(read<uint32_t>({id, 0}, 64), expected) << "repeat " << repeat;
    }
    batch(static_cast<uint32_t>(repeat), 5);
    write(BufferRange{id, 4}, std::vector<uint32_t>{7});
    expected[1] = 7;
    if (repeat % 10 == 0) batch(3, 200);
    if (repeat % 7 == 6) {
      // Other memory, which may have the old one's address.
      ASSERT_EQ(read<uint32_t>({id, 0}, 64), expected) << "repeat " << repeat;
      session().release(id);
      id = buffer(256);
      write(BufferRange{id, 0}, expected);
    }
  }
  EXPECT_EQ(read<uint32_t>({id, 0}, 64), expected);
}

TEST_P(StreamConformance, WorkOfAStreamRunsInOrder) {
  KernelId fold = kernel("fold");
  BufferId id = buffer(256);
  BufferId copy = buffer(256);
  std::vector<uint32_t> expected(64);
  std::iota(expected.begin(), expected.end(), 0u);
  write(BufferRange{id, 0}, expected);
  for (uint32_t step = 0; step < 50; ++step) {
    ASSERT_TRUE(launch(fold, {{id, 0}}, {step}, 64));
    ASSERT_TRUE(session().copy(kDefaultStream, {id, 0}, {copy, 0}, 256));
    write(BufferRange{id, 4}, std::vector<uint32_t>{step});
    for (uint32_t& value : expected) {
      if (computes()) value = value * 3u + step;
    }
    std::vector<uint32_t> copied = expected;
    expected[1] = step;
    if (step % 10 == 9) {
      ASSERT_EQ(read<uint32_t>({copy, 0}, 64), copied) << "step " << step;
    }
  }
  EXPECT_EQ(read<uint32_t>({id, 0}, 64), expected);
}

TEST_P(StreamConformance, EventsOrderTwoStreams) {
  KernelId fold = kernel("fold");
  StreamId other{session().new_handle()};
  ASSERT_TRUE(session().create_stream(other));
  EventId ping{session().new_handle()};
  EventId pong{session().new_handle()};
  BufferId id = buffer(4);
  write(BufferRange{id, 0}, std::vector<uint32_t>{1});
  uint32_t expected = 1;
  for (uint32_t step = 0; step < 40; ++step) {
    ASSERT_TRUE(launch(fold, {{id, 0}}, {2 * step}, 1));
    ASSERT_TRUE(session().record(kDefaultStream, ping));
    ASSERT_TRUE(session().wait_event(other, ping));
    ASSERT_TRUE(launch(fold, {{id, 0}}, {2 * step + 1}, 1, 64, other));
    ASSERT_TRUE(session().record(other, pong));
    ASSERT_TRUE(session().wait_event(kDefaultStream, pong));
    if (computes()) expected = (expected * 3u + 2 * step) * 3u + 2 * step + 1;
  }
  EXPECT_EQ(read<uint32_t>({id, 0}, 1), std::vector<uint32_t>{expected});
  EXPECT_TRUE(session().synchronize(other));
  session().destroy_stream(other);
  EXPECT_FALSE(session().synchronize(other));
}

TEST_P(StreamConformance, UnknownHandlesAndInvalidRequestsAreRefused) {
  KernelId ramp = kernel("ramp");
  BufferId id = buffer(16);
  auto refused = [](const Status& status) {
    return !status && status.error().kind == ErrorKind::kInternal;
  };
  EXPECT_TRUE(refused(launch(KernelId{4711}, {{id, 0}}, {1, 1}, 4)));
  EXPECT_TRUE(refused(launch(ramp, {{BufferId{4711}, 0}}, {1, 1}, 4)));
  EXPECT_TRUE(refused(launch(ramp, {{id, 17}}, {1, 1}, 4)));
  EXPECT_TRUE(refused(launch(ramp, {{id, 0}}, {1, 1}, -1)));
  EXPECT_TRUE(refused(launch(ramp, {{id, 0}}, {1, 1}, 4, 0)));
  EXPECT_TRUE(refused(launch(ramp, {{id, 0}}, {1, 1}, 4, 64, StreamId{4711})));
  EXPECT_TRUE(refused(session().create_stream(kDefaultStream)));
  EXPECT_TRUE(refused(session().wait_event(kDefaultStream, EventId{4711})));
  EXPECT_TRUE(refused(session().record(StreamId{4711}, EventId{1})));
  EXPECT_TRUE(refused(session().get_kernel(KernelId{1}, ModuleId{4711}, "ramp")));
  Status missing = session().get_kernel(KernelId{session().new_handle()}, module_, "no_such");
  ASSERT_TRUE(refused(missing));
  EXPECT_NE(missing.error().message.find("no_such"), std::string::npos);
  EXPECT_TRUE(session().synchronize(kDefaultStream));
  EXPECT_TRUE(launch(ramp, {{id, 0}}, {1, 1}, 4));
  EXPECT_TRUE(session().synchronize(kDefaultStream));
}

TEST_P(StreamConformance, KernelsOutliveTheirModule) {
  KernelId ramp = kernel("ramp");
  session().unload_module(module_);
  BufferId id = buffer(12);
  write(BufferRange{id, 0}, std::vector<int32_t>{4, 5, 6});
  ASSERT_TRUE(launch(ramp, {{id, 0}}, {4, 1}, 3));
  EXPECT_EQ(read<int32_t>({id, 0}, 3), (std::vector<int32_t>{4, 5, 6}));
}

TEST_P(StreamConformance, LaunchesKeepTheirKernel) {
  KernelId fold = kernel("fold");
  BufferId id = buffer(16);
  write(BufferRange{id, 0}, std::vector<uint32_t>{1, 2, 3, 4});
  std::vector<uint32_t> expected = {1, 2, 3, 4};
  for (uint32_t step = 0; step < 100; ++step) {
    ASSERT_TRUE(launch(fold, {{id, 0}}, {step}, 4, 4));
    for (uint32_t& value : expected) {
      if (computes()) value = value * 3u + step;
    }
  }
  session().release_kernel(fold);
  session().unload_module(module_);
  EXPECT_EQ(read<uint32_t>({id, 0}, 4), expected);
  const Status gone = launch(fold, {{id, 0}}, {1}, 4, 4);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kInternal);
  session().release_kernel(fold);
  session().release_kernel(KernelId{4711});
  EXPECT_TRUE(session().synchronize(kDefaultStream));
}

TEST_P(StreamConformance, TenThousandLaunches) {
  KernelId fold = kernel("fold");
  BufferId id = buffer(16);
  write(BufferRange{id, 0}, std::vector<uint32_t>{1, 2, 3, 4});
  std::vector<uint32_t> expected = {1, 2, 3, 4};
  for (uint32_t step = 0; step < 10000; ++step) {
    ASSERT_TRUE(launch(fold, {{id, 0}}, {step}, 4, 4));
    for (uint32_t& value : expected) {
      if (computes()) value = value * 3u + step;
    }
  }
  EXPECT_EQ(read<uint32_t>({id, 0}, 4), expected);
}

TEST_P(StreamConformance, ADeadlineInTheFutureIsMet) {
  BufferId id = buffer(4);
  ASSERT_TRUE(launch(kernel("ramp"), {{id, 0}}, {3, 1}, 1));
  auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  EXPECT_TRUE(session().synchronize(kDefaultStream, deadline));
  std::vector<int32_t> value(1);
  EXPECT_TRUE(
      session().read(kDefaultStream, {id, 0}, std::as_writable_bytes(std::span(value)), deadline));
  if (computes()) {
    EXPECT_EQ(value[0], 3);
  }
}

TEST_P(StreamConformance, SessionsOfSeveralThreads) {
  constexpr int kThreads = 4;
  std::vector<std::vector<uint32_t>> results(kThreads);
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<runtime::Session>> sessions;
  for (int i = 0; i < kThreads; ++i) sessions.push_back(new_session());
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      runtime::Session& own = *sessions[i];
      ModuleId module{own.new_handle()};
      KernelId fold{own.new_handle()};
      BufferId id{own.new_handle()};
      std::vector<uint32_t> values(1000, static_cast<uint32_t>(i));
      bool fine = static_cast<bool>(own.load_module(module, GetParam().module())) &&
                  own.get_kernel(fold, module, "fold") && own.allocate(id, 4000) &&
                  own.write(kDefaultStream, {id, 0}, std::as_bytes(std::span(values)));
      for (int64_t step = 0; fine && step < 100; ++step) {
        BufferRange range{id, 0};
        runtime::LaunchRequest request{fold, std::span(&range, 1), std::span(&step, 1), 1000, 64};
        fine = static_cast<bool>(own.launch(kDefaultStream, request));
      }
      if (fine && own.read(kDefaultStream, {id, 0}, std::as_writable_bytes(std::span(values)))) {
        results[i] = values;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    auto expected = static_cast<uint32_t>(i);
    for (uint32_t step = 0; step < 100 && computes(); ++step) expected = expected * 3u + step;
    EXPECT_EQ(results[i], std::vector<uint32_t>(1000, expected)) << "thread " << i;
  }
}

TEST_P(StreamConformance, OneSessionOfSeveralThreads) {
  constexpr int kThreads = 4;
  KernelId fold = kernel("fold");
  std::vector<BufferId> ids;
  for (int i = 0; i < kThreads; ++i) ids.push_back(buffer(400));
  std::vector<std::vector<uint32_t>> results(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      StreamId stream{session().new_handle()};
      std::vector<uint32_t> values(100, static_cast<uint32_t>(i));
      bool fine = session().create_stream(stream) &&
                  session().write(stream, {ids[i], 0}, std::as_bytes(std::span(values)));
      for (int64_t step = 0; fine && step < 100; ++step) {
        fine = static_cast<bool>(launch(fold, {{ids[i], 0}}, {step}, 100, 32, stream));
      }
      if (fine && session().read(stream, {ids[i], 0}, std::as_writable_bytes(std::span(values)))) {
        results[i] = values;
      }
      session().destroy_stream(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    auto expected = static_cast<uint32_t>(i);
    for (uint32_t step = 0; step < 100 && computes(); ++step) expected = expected * 3u + step;
    EXPECT_EQ(results[i], std::vector<uint32_t>(100, expected)) << "thread " << i;
  }
}

}  // namespace
}  // namespace tapml::test
