// The actions of both ends on one clock, and the log lines before a failure.
#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "native_device.h"
#include "rpc/session/remote_session.h"
#include "rpc/session/wire.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

using runtime::kDefaultStream;
using runtime::TraceEvent;
using runtime::Value;
using testing::MemoryServer;

int64_t end_of(const TraceEvent& event) { return event.start + event.duration; }

TEST(RemoteTrace, HasBothEndsOnOneClock) {
  MemoryServer server(native_device());
  auto session = server.connect();
  auto vm = std::move(*session->open_vm(share(chain_program(native_blob()))));
  const std::vector<Value> args = {*runtime::upload(*session, f32({1, 2})),
                                   *runtime::upload(*session, f32({10, 20}))};
  ASSERT_TRUE(vm->call("main", args)) << "before the trace";
  ASSERT_TRUE(session->start_trace());
  auto result = vm->call("main", args);
  ASSERT_TRUE(result);
  ASSERT_TRUE(runtime::download(*result->tensor()));
  auto taken = session->take_trace();
  ASSERT_TRUE(taken) << taken.error().to_string();
  const TraceEvent *call = nullptr, *fetch = nullptr;
  std::vector<TraceEvent> kernels;
  for (const TraceEvent& event : *taken) {
    if (!event.remote && event.name == "call main") call = &event;
    if (!event.remote && event.name == "fetch") fetch = &event;
    if (event.remote && event.kind == TraceEvent::Kind::kKernel) kernels.push_back(event);
  }
  ASSERT_TRUE(call && fetch);
  EXPECT_EQ(call->kind, TraceEvent::Kind::kWait);
  EXPECT_EQ(fetch->kind, TraceEvent::Kind::kCopy);
  EXPECT_EQ(fetch->bytes, 8);
  ASSERT_FALSE(kernels.empty());
  // The clock offset is known up to half of the fastest of several round trips, and a call is one
  // round trip.
  const int64_t slack = call->duration;
  EXPECT_GE(kernels.front().start, call->start - slack);
  EXPECT_LE(end_of(kernels.back()), end_of(*call) + slack);
  for (size_t i = 1; i < kernels.size(); ++i) {
    EXPECT_GE(kernels[i].start, end_of(kernels[i - 1])) << "one stream";
  }
  EXPECT_LE(end_of(*call), fetch->start);
  EXPECT_TRUE(session->take_trace()->empty()) << "taken is taken";
}

TEST(RemoteTrace, ManyEventsComeInSeveralReplies) {
  MemoryServer server(native_device());
  auto session = server.connect();
  ASSERT_TRUE(session->start_trace());
  const runtime::BufferId id{session->new_handle()};
  ASSERT_TRUE(session->allocate(id, 64));
  constexpr int kCopies = 40000;
  for (int i = 0; i < kCopies; ++i) {
    ASSERT_TRUE(session->copy(kDefaultStream, {id, 0}, {id, 32}, 16));
  }
  auto taken = session->take_trace();
  ASSERT_TRUE(taken) << taken.error().to_string();
  EXPECT_EQ(taken->size(), size_t{kCopies});
  EXPECT_TRUE(std::ranges::is_sorted(*taken, {}, &TraceEvent::start));
  EXPECT_TRUE(std::ranges::all_of(*taken, [](const TraceEvent& event) {
    return event.remote && event.name == "copy" && event.bytes == 16;
  }));
}

TEST(RecentLines, KeepsTheLastOnes) {
  rpc::RecentLines recent;
  EXPECT_TRUE(recent.lines().empty());
  recent.add("one\ttwo\x1b[31m");
  recent.add(std::string(1000, 'x'));
  EXPECT_EQ(recent.lines().size(), 2u);
  EXPECT_EQ(recent.lines()[0], "one?two?[31m");
  EXPECT_LT(recent.lines()[1].size(), 300u);
  for (int i = 0; i < 100; ++i) recent.add("line " + std::to_string(i));
  const std::vector<std::string> lines = recent.last_lines();
  ASSERT_EQ(lines.size(), 16u);
  EXPECT_EQ(lines.front(), "line 84");
  EXPECT_EQ(lines.back(), "line 99");
}

TEST(RecentLines, ComeWithFailures) {
  rpc::RecentLines recent;
  rpc::ServerOptions options;
  options.recent = &recent;
  options.limits.memory_bytes = 1000;
  options.open_device = [](const std::string&) { return native_device(); };
  MemoryServer server(options);
  auto session = server.connect();
  recent.add("a library said this");
  ASSERT_TRUE(session->allocate(runtime::BufferId{session->new_handle()}, 2000));
  Status failed = session->synchronize(kDefaultStream);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_NE(failed.error().where.find("the last lines of the server's log:"), std::string::npos);
  EXPECT_NE(failed.error().where.find("\n  a library said this"), std::string::npos)
      << failed.error().to_string();
  auto vm = std::move(*session->open_vm(share(chain_program(native_blob()))));
  auto called = vm->call("nothing", {});
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, ErrorKind::kUser);
  EXPECT_EQ(called.error().to_string().find("a library said"), std::string::npos)
      << "the input's fault needs no log";
}

}  // namespace
}  // namespace tapml::test
