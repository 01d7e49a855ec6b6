// Connecting ends in time, and when it is interrupted, whatever the other side omits.
#include "rpc/transport/connect.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/silent_listener.h"

namespace tapml::rpc {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::fault_of;
using testing::SilentListener;

// True from then on.
Interrupted after(std::chrono::milliseconds time) {
  return [until = Clock::now() + time] { return Clock::now() >= until; };
}

TEST(Connecting, ToAHostThatDoesNotAnswer) {
  SilentListener listener;
  listener.fill();
  auto start = Clock::now();
  EXPECT_EQ(fault_of(connect(listener.endpoint(), start + 200ms)), PlatformFault::kTimeout);
  EXPECT_GE(Clock::now() - start, 200ms);
  EXPECT_LT(Clock::now() - start, 1200ms);
  start = Clock::now();
  EXPECT_EQ(fault_of(connect(listener.endpoint(), start + 30s, {}, after(100ms))),
            PlatformFault::kCancelled);
  EXPECT_GE(Clock::now() - start, 100ms);
  EXPECT_LT(Clock::now() - start, 1100ms);
}

#ifdef TAPML_HAS_OPENSSL
TEST(Connecting, ToAServerThatDoesNotShakeHands) {
  const SilentListener listener;
  auto start = Clock::now();
  EXPECT_EQ(fault_of(connect(listener.endpoint("tls:"), start + 200ms)), PlatformFault::kTimeout);
  EXPECT_LT(Clock::now() - start, 1200ms);
  start = Clock::now();
  EXPECT_EQ(fault_of(connect(listener.endpoint("tls:"), start + 30s, {}, after(100ms))),
            PlatformFault::kCancelled);
  EXPECT_LT(Clock::now() - start, 1100ms);
}
#endif

TEST(Connecting, ByName) {
  const SilentListener listener;
  EXPECT_TRUE(connect(listener.endpoint("tcp:", "localhost"), Clock::now() + 30s, {}, after(30s)));
  EXPECT_EQ(fault_of(connect(listener.endpoint("tcp:", "no-such-host.invalid"), Clock::now() + 60s,
                             {}, after(60s))),
            PlatformFault::kAbsent);
  // A connection that is too late or already interrupted is not started.
  EXPECT_EQ(fault_of(connect(listener.endpoint("tcp:", "localhost"), Clock::now() - 1s)),
            PlatformFault::kTimeout);
  EXPECT_EQ(fault_of(connect(listener.endpoint("tcp:", "localhost"), {}, {}, [] { return true; })),
            PlatformFault::kCancelled);
}

}  // namespace
}  // namespace tapml::rpc
