#include "runtime/local_session.h"

#include <gtest/gtest.h>

#include <functional>

#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::EventId;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::LaunchRequest;
using runtime::ModuleId;
using runtime::StreamId;

class LocalSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(session().allocate(buffer_, 16));
    ASSERT_TRUE(session().load_module(ModuleId{1}, native_blob()));
    ASSERT_TRUE(session().get_kernel(kernel_, ModuleId{1}, "ramp"));
    ASSERT_TRUE(session().create_stream(other_));
  }
  runtime::Session& session() { return *test_; }

  Status launch(int64_t first, StreamId stream = kDefaultStream) {
    BufferRange range{buffer_, 0};
    int64_t scalars[] = {first, 1};
    LaunchRequest request{kernel_, std::span(&range, 1), scalars, 4, 1};
    return session().launch(stream, request);
  }
  int32_t first_element(StreamId stream = kDefaultStream) {
    int32_t value = -1;
    Status status =
        session().read(stream, {buffer_, 0}, std::as_writable_bytes(std::span(&value, 1)));
    EXPECT_TRUE(status) << status.error().to_string();
    return value;
  }

  TestSession test_;
  BufferId buffer_{100};
  KernelId kernel_{101};
  StreamId other_{102};
};

TEST_F(LocalSessionTest, AnErrorSurfacesAtTheNextWaitAndSkipsWhatFollows) {
  for (bool deferred : {false, true}) {
    test_.behaviour().deferred = deferred;
    ASSERT_TRUE(launch(1));
    ASSERT_TRUE(session().synchronize(kDefaultStream));
    test_.behaviour().launch_error = internal_error("the kernel broke");
    EXPECT_TRUE(launch(50)) << "enqueued, no more";
    EXPECT_TRUE(launch(60)) << "skipped";
    Status status = session().synchronize(kDefaultStream);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "the kernel broke");
    if (!deferred) {
      EXPECT_EQ(status.error().where, "kernel ramp");
    }
    EXPECT_EQ(first_element(), 1) << "the stream starts again, and nothing ran after the error";
    ASSERT_TRUE(launch(70));
    EXPECT_EQ(first_element(), 70);
  }
}

TEST_F(LocalSessionTest, AReadReportsTheErrorToo) {
  test_.behaviour().launch_error = internal_error("the kernel broke");
  ASSERT_TRUE(launch(5));
  std::byte byte{};
  Status status = session().read(kDefaultStream, {buffer_, 0}, std::span(&byte, 1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the kernel broke");
  EXPECT_TRUE(session().read(kDefaultStream, {buffer_, 0}, std::span(&byte, 1)));
}

TEST_F(LocalSessionTest, OtherStreamsDoNotNotice) {
  test_.behaviour().launch_error = internal_error("the kernel broke");
  ASSERT_TRUE(launch(5));
  EXPECT_TRUE(session().synchronize(other_));
  EXPECT_FALSE(session().synchronize(kDefaultStream));
}

TEST_F(LocalSessionTest, AnErrorTravelsWithAnEvent) {
  test_.behaviour().launch_error = internal_error("the kernel broke");
  ASSERT_TRUE(launch(5));
  ASSERT_TRUE(session().record(kDefaultStream, EventId{7}));
  ASSERT_TRUE(session().wait_event(other_, EventId{7}));
  ASSERT_TRUE(launch(80, other_));
  Status status = session().synchronize(other_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the kernel broke");
  EXPECT_FALSE(session().synchronize(kDefaultStream));
  EXPECT_EQ(first_element(), 0) << "no launch ran";
}

TEST_F(LocalSessionTest, ALostDeviceStaysLost) {
  test_.behaviour().launch_error = platform_error(PlatformFault::kLost, "it is gone");
  ASSERT_TRUE(launch(5));
  for (int i = 0; i < 3; ++i) {
    Status status = session().synchronize(kDefaultStream);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().fault, PlatformFault::kLost);
    EXPECT_TRUE(launch(6));
  }
}

TEST_F(LocalSessionTest, ADeadlineEndsTheWait) {
  test_.behaviour().deferred = true;
  test_.behaviour().hangs = true;
  ASSERT_TRUE(launch(9));
  auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  Status status = session().synchronize(kDefaultStream, soon);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kTimeout);
  EXPECT_GE(std::chrono::steady_clock::now(), soon);
  std::byte byte{};
  EXPECT_FALSE(session().read(kDefaultStream, {buffer_, 0}, std::span(&byte, 1), soon));
  test_.behaviour().hangs = false;
  EXPECT_TRUE(session().synchronize(kDefaultStream, soon)) << "done counts, however late";
  EXPECT_EQ(first_element(), 9);
}

TEST_F(LocalSessionTest, ASnapshotWaitsForAllStreams) {
  test_.behaviour().deferred = true;
  ASSERT_TRUE(launch(33, other_));
  auto snapshot = session().snapshot();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->buffers.size(), 1u);
  int32_t value = 0;
  std::memcpy(&value, snapshot->buffers[0].second.data(), 4);
  EXPECT_EQ(value, 33);
  snapshot->buffers[0].second.resize(3);
  EXPECT_FALSE(session().restore(*snapshot)) << "another size";
}

TEST_F(LocalSessionTest, MemoryGoesWithTheSession) {
  EXPECT_GT(test_.behaviour().live_bytes, 0);
  test_.session.reset();
  EXPECT_EQ(test_.behaviour().live_bytes, 0);
}

class BatchTest : public LocalSessionTest {
 protected:
  void SetUp() override {
    test_.behaviour().prefers_batches = true;
    LocalSessionTest::SetUp();
    memory_ = local().memory(buffer_);
    object_ = local().kernel(kernel_);
  }
  runtime::LocalSession& local() { return *test_.session; }
  const std::vector<size_t>& batches() { return test_.behaviour().batches; }

  // As a virtual machine launches.
  Status launch_object(int64_t first) {
    const runtime::BufferArg range{memory_.get(), 0};
    const int64_t scalars[] = {first, 1};
    runtime::LaunchArgs args;
    args.buffers = std::span(&range, 1);
    args.scalars = scalars;
    args.extent = 4;
    return local().launch(kDefaultStream, *object_, entry_, args);
  }

  std::shared_ptr<runtime::DeviceMemory> memory_;
  std::shared_ptr<runtime::DeviceKernel> object_;
  const std::string entry_ = "ramp";
};

TEST_F(BatchTest, LaunchesOfABatchAreSubmittedTogether) {
  local().begin_batch(kDefaultStream);
  for (int64_t i = 0; i < 5; ++i) ASSERT_TRUE(launch_object(i));
  EXPECT_EQ(test_.behaviour().launches, 0) << "held back";
  local().end_batch(kDefaultStream);
  EXPECT_EQ(batches(), std::vector<size_t>{5});
  EXPECT_EQ(test_.behaviour().launches, 5);
  EXPECT_EQ(first_element(), 4) << "in order, with their own scalars";
  ASSERT_TRUE(launch_object(9));
  EXPECT_EQ(test_.behaviour().launches, 6) << "at once after the end";
}

TEST_F(BatchTest, NothingIsHeldBackWhereTheDeviceDoesNotPreferIt) {
  test_.behaviour().prefers_batches = false;
  local().begin_batch(kDefaultStream);
  ASSERT_TRUE(launch_object(1));
  EXPECT_EQ(test_.behaviour().launches, 1);
  local().end_batch(kDefaultStream);
  EXPECT_TRUE(batches().empty());
}

TEST_F(BatchTest, ALongBatchIsSubmittedInParts) {
  constexpr auto kMost = runtime::LaunchBatch::kMostLaunches;
  local().begin_batch(kDefaultStream);
  for (size_t i = 0; i < kMost + 3; ++i) ASSERT_TRUE(launch_object(static_cast<int64_t>(i)));
  local().end_batch(kDefaultStream);
  EXPECT_EQ(batches(), (std::vector<size_t>{kMost, 3}));
  EXPECT_EQ(first_element(), static_cast<int32_t>(kMost + 2));
}

TEST_F(BatchTest, EveryOtherUseOfTheStreamSubmitsFirst) {
  const std::vector<std::byte> zeros(16);
  const std::pair<const char*, std::function<void()>> uses[] = {
      {"read", [&] { EXPECT_EQ(first_element(), 7); }},
      {"write", [&] { EXPECT_TRUE(session().write(kDefaultStream, {buffer_, 0}, zeros)); }},
      {"fill", [&] { EXPECT_TRUE(session().fill_zero(kDefaultStream, {buffer_, 0}, 16)); }},
      {"copy", [&] { EXPECT_TRUE(session().copy(kDefaultStream, {buffer_, 0}, {buffer_, 8}, 8)); }},
      {"a launch by handles", [&] { EXPECT_TRUE(launch(8)); }},
      {"synchronize", [&] { EXPECT_TRUE(session().synchronize(kDefaultStream)); }},
      {"record", [&] { EXPECT_TRUE(session().record(kDefaultStream, EventId{900})); }},
      {"snapshot", [&] { EXPECT_TRUE(session().snapshot()); }},
      {"release of a buffer", [&] { session().release(BufferId{901}); }},
      {"release of a kernel", [&] { session().release_kernel(KernelId{902}); }},
      {"unloading a module", [&] { session().unload_module(ModuleId{903}); }},
  };
  for (const auto& [name, use] : uses) {
    local().begin_batch(kDefaultStream);
    const int64_t before = test_.behaviour().launches;
    ASSERT_TRUE(launch_object(7));
    ASSERT_EQ(test_.behaviour().launches, before) << name;
    use();
    EXPECT_GT(test_.behaviour().launches, before) << name;
    local().end_batch(kDefaultStream);
  }
}

TEST_F(BatchTest, BatchesNest) {
  local().begin_batch(kDefaultStream);
  local().begin_batch(kDefaultStream);
  ASSERT_TRUE(launch_object(1));
  local().end_batch(kDefaultStream);
  EXPECT_EQ(test_.behaviour().launches, 0);
  local().end_batch(kDefaultStream);
  EXPECT_EQ(test_.behaviour().launches, 1);
}

TEST_F(BatchTest, AnErrorNamesItsKernelAndSkipsTheRest) {
  test_.behaviour().launch_error = internal_error("the kernel broke");
  local().begin_batch(kDefaultStream);
  for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE(launch_object(i));
  local().end_batch(kDefaultStream);
  Status status = session().synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the kernel broke");
  EXPECT_EQ(status.error().where, "kernel ramp");
  EXPECT_EQ(test_.behaviour().launches, 1);
  ASSERT_TRUE(launch_object(6));
  EXPECT_EQ(first_element(), 6) << "the stream goes on";
}

TEST_F(BatchTest, ATraceTimesEachLaunchByItself) {
  ASSERT_TRUE(session().start_trace());
  local().begin_batch(kDefaultStream);
  for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE(launch_object(i));
  local().end_batch(kDefaultStream);
  EXPECT_TRUE(batches().empty());
  auto events = session().take_trace();
  ASSERT_TRUE(events);
  EXPECT_EQ(events->size(), 3u);
}

}  // namespace
}  // namespace tapml::test
