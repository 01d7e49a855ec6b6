// Sandboxes whose sessions fail on purpose.
#include "topdown/runner/sandbox.h"

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "support/sessions.h"
#include "topdown/runner/deadline_session.h"

namespace tapml::topdown {
namespace {

using runtime::Deadline;
using runtime::StreamId;

// Forwards everything to a null device; its waits end with `ending`, or successfully if it is null.
class Faulty : public runtime::Session {
 public:
  const DeviceInfo& info() const noexcept override { return inner_->info(); }
  Status allocate(runtime::BufferId id, int64_t bytes, Deadline deadline) noexcept override {
    return inner_->allocate(id, bytes, deadline);
  }
  void release(runtime::BufferId id) noexcept override { inner_->release(id); }
  Status load_module(runtime::ModuleId id, const ModuleBlob& blob,
                     Deadline deadline) noexcept override {
    return inner_->load_module(id, blob, deadline);
  }
  void unload_module(runtime::ModuleId id) noexcept override { inner_->unload_module(id); }
  Status get_kernel(runtime::KernelId, runtime::ModuleId, const std::string&,
                    Deadline) noexcept override {
    return {};
  }
  void release_kernel(runtime::KernelId) noexcept override {}
  Status create_stream(StreamId) noexcept override { return {}; }
  void destroy_stream(StreamId) noexcept override {}
  Status write(StreamId stream, runtime::BufferRange to,
               std::span<const std::byte> bytes) noexcept override {
    return inner_->write(stream, to, bytes);
  }
  Status copy(StreamId, runtime::BufferRange, runtime::BufferRange, int64_t) noexcept override {
    return {};
  }
  Status fill_zero(StreamId, runtime::BufferRange, int64_t) noexcept override { return {}; }
  Status launch(StreamId, const runtime::LaunchRequest&) noexcept override { return {}; }
  Status record(StreamId, runtime::EventId) noexcept override { return {}; }
  Status wait_event(StreamId, runtime::EventId) noexcept override { return {}; }
  Status read(StreamId, runtime::BufferRange, std::span<std::byte>,
              Deadline deadline) noexcept override {
    return end(deadline);
  }
  Status synchronize(StreamId, Deadline deadline) noexcept override { return end(deadline); }
  Result<Snapshot> snapshot() noexcept override { return Snapshot{}; }
  Status restore(const Snapshot&) noexcept override { return {}; }

  PlatformFault ending = PlatformFault::kNone;
  int waits_left = 0;             // this many waits exceed their deadline
  std::vector<double> deadlines;  // seconds from the wait on; -1 if none

 private:
  Status end(Deadline deadline) noexcept {
    const auto left =
        deadline
            ? std::chrono::duration<double>(*deadline - std::chrono::steady_clock::now()).count()
            : -1;
    deadlines.push_back(left);
    if (waits_left-- > 0) return fail(platform_error(PlatformFault::kTimeout, "not yet"));
    if (ending == PlatformFault::kNone) return {};
    return fail(platform_error(ending, "as planned"));
  }
  std::unique_ptr<runtime::Session> inner_ = testing::open_session("null");
};

TEST(DeadlineSession, WaitsInSlicesForEveryLaunch) {
  auto owned = std::make_unique<Faulty>();
  Faulty& faulty = *owned;
  DeadlineSession session(std::move(owned), std::chrono::seconds(100), {});
  faulty.waits_left = 3;
  EXPECT_TRUE(session.synchronize(runtime::kDefaultStream, {}));
  EXPECT_EQ(faulty.deadlines.size(), 4u);
  for (double left : faulty.deadlines) EXPECT_LE(left, 1) << "a slice";
  // A read whose slice was too short waits first for the work, then only for the bytes.
  faulty.waits_left = 2;
  faulty.deadlines.clear();
  std::byte byte{};
  EXPECT_TRUE(session.read(runtime::kDefaultStream, {}, {&byte, 1}, {}));
  ASSERT_EQ(faulty.deadlines.size(), 4u) << "read, two synchronize, read";
  EXPECT_EQ(faulty.deadlines.back(), -1);
}

TEST(DeadlineSession, EndsAWaitThatTakesTooLong) {
  auto owned = std::make_unique<Faulty>();
  owned->waits_left = 1 << 30;
  DeadlineSession session(std::move(owned), std::chrono::milliseconds(20), {});
  auto status = session.synchronize(runtime::kDefaultStream, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kTimeout);
  EXPECT_NE(status.error().message.find("0.02 s"), std::string::npos) << status.error().message;
}

TEST(DeadlineSession, EndsAWaitThatIsCancelled) {
  auto owned = std::make_unique<Faulty>();
  owned->waits_left = 1 << 30;
  int asked = 0;
  DeadlineSession session(std::move(owned), std::chrono::hours(1), [&] { return ++asked > 3; });
  auto status = session.synchronize(runtime::kDefaultStream, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kCancelled);
}

TEST(Sandbox, OpensAgainAfterARestart) {
  int opened = 0, ended = 0;
  Platform platform;
  platform.target = target::parse_target("null");
  platform.open = [&]() -> std::unique_ptr<runtime::Session> {
    ++opened;
    return testing::open_session("null");
  };
  Sandbox sandbox(platform);
  EXPECT_TRUE(sandbox.isolated());
  EXPECT_EQ(opened, 0);
  sandbox.load(std::make_shared<Executable>());
  EXPECT_EQ(&sandbox.runner().session(), &sandbox.session());
  EXPECT_EQ(opened, 1);
  sandbox.set_before_end([&](runtime::Session& session) {
    EXPECT_EQ(&session, &sandbox.session());
    ++ended;
  });
  sandbox.restart();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(sandbox.restarts(), 1);
  sandbox.runner();
  EXPECT_EQ(opened, 2);
  for (PlatformFault fault :
       {PlatformFault::kLost, PlatformFault::kTimeout, PlatformFault::kProtocol}) {
    EXPECT_TRUE(sandbox.contains(platform_error(fault, "")));
  }
  for (PlatformFault fault : {PlatformFault::kOutOfMemory, PlatformFault::kCancelled}) {
    EXPECT_FALSE(sandbox.contains(platform_error(fault, "")));
  }
  EXPECT_FALSE(sandbox.contains(user_error("")));
}

TEST(Sandbox, RecordsWhatElseRanInTheProcess) {
  Platform platform;
  platform.target = target::parse_target("null");
  platform.open = [] { return testing::open_session("null"); };
  Sandbox sandbox(platform);
  sandbox.load(std::make_shared<Executable>());
  EXPECT_FALSE(sandbox.is_alone("a"));
  sandbox.runner_of("a");
  sandbox.runner_of("a");
  EXPECT_TRUE(sandbox.is_alone("a"));
  sandbox.runner_of("b");
  EXPECT_FALSE(sandbox.is_alone("a"));
  EXPECT_FALSE(sandbox.is_alone("b"));
  sandbox.restart();
  sandbox.runner_of("b");
  EXPECT_TRUE(sandbox.is_alone("b"));
  sandbox.runner();  // for example of a whole model
  EXPECT_FALSE(sandbox.is_alone("b"));
  sandbox.add_right("b");
  EXPECT_TRUE(sandbox.right().contains("b"));
  sandbox.load(std::make_shared<Executable>());
  EXPECT_TRUE(sandbox.right().empty()) << "of other code nothing is known";
}

TEST(Sandbox, WhatIsLostOnTheWayIsNoCrash) {
  Platform platform;
  platform.target = target::parse_target("null");
  platform.open = [] { return testing::open_session("null"); };
  const Error lost = platform_error(PlatformFault::kLost, ""),
              crash = platform_error(PlatformFault::kCrash, "");
  const Sandbox here(platform);
  EXPECT_TRUE(here.contains(lost)) << "the connection is lost";
  EXPECT_FALSE(here.lost(lost));
  platform.remote_target = true;
  const Sandbox there(platform);
  EXPECT_FALSE(there.contains(lost));
  EXPECT_TRUE(there.lost(lost));
  for (const Sandbox* sandbox : {&here, &there}) {
    EXPECT_TRUE(sandbox->contains(crash));
    EXPECT_FALSE(sandbox->lost(crash));
    EXPECT_FALSE(sandbox->lost(platform_error(PlatformFault::kTimeout, "")));
  }
}

TEST(Sandbox, OpensAnotherSessionWhereOneWasLostUnused) {
  std::vector<Faulty*> opened;
  Platform platform;
  platform.target = target::parse_target("null");
  platform.open = [&]() -> std::unique_ptr<runtime::Session> {
    auto session = std::make_unique<Faulty>();
    opened.push_back(session.get());
    return session;
  };
  Sandbox sandbox(platform);
  sandbox.refresh();
  sandbox.load(std::make_shared<Executable>());
  EXPECT_TRUE(opened.empty()) << "nothing uses it";
  sandbox.runner();
  sandbox.load(std::make_shared<Executable>());
  sandbox.runner();
  EXPECT_EQ(opened.size(), 1u);
  opened.back()->ending = PlatformFault::kLost;
  sandbox.load(std::make_shared<Executable>());
  EXPECT_TRUE(sandbox.runner().session().synchronize(runtime::kDefaultStream));
  EXPECT_EQ(opened.size(), 2u);
  // Other errors of a wait are left to the caller.
  opened.back()->ending = PlatformFault::kOutOfMemory;
  sandbox.refresh();
  sandbox.runner();
  EXPECT_EQ(opened.size(), 2u);
}

TEST(Sandbox, InThisProcessContainsNoFaults) {
  auto session = testing::open_session("null");
  Sandbox sandbox({target::parse_target("null"), session.get()});
  EXPECT_FALSE(sandbox.isolated());
  EXPECT_EQ(&sandbox.session(), session.get());
  EXPECT_FALSE(sandbox.contains(platform_error(PlatformFault::kLost, "")));
}

}  // namespace
}  // namespace tapml::topdown
