// The second thread of a server's link, with a client that does not cooperate.
#include "rpc/session/host/attended_link.h"

#include <gtest/gtest.h>

#include <future>

#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::rpc {
namespace {

using namespace std::chrono_literals;

TEST(AttendedLink, ReadsAheadWithinItsBound) {
  constexpr size_t kFrame = size_t{1} << 20, kRoom = size_t{2} << 20;
  auto [server, client] = testing::memory_channels(kRoom);
  AttendedLink link(*server, 1h);
  link.begin_work();
  const std::vector<std::byte> head(kFrame);
  int taken = 0;
  while (taken < 64 && client->send(head, {}, Clock::now() + 300ms)) ++taken;
  // The channel holds two; of the frames read ahead at most one exceeds 4 MiB.
  EXPECT_LE(taken, 2 + 5);
  link.end_work();
  // All frames arrive in order, and then there is space again.
  std::vector<std::byte> received;
  uint64_t payload = 0;
  for (int i = 0; i < taken; ++i) {
    ASSERT_TRUE(link.receive(received, payload, Clock::now() + 5s)) << i;
    EXPECT_EQ(received.size(), kFrame);
  }
  EXPECT_TRUE(client->send(head, {}, Clock::now() + 5s));
}

TEST(AttendedLink, AClientThatTakesNothingDoesNotHoldASend) {
  auto [server, client] = testing::memory_channels(1);
  AttendedLink link(*server, 10ms);
  link.begin_work();
  // The first heartbeat fills the channel, the next one waits in vain.
  std::this_thread::sleep_for(300ms);
  link.end_work();
  auto sent = std::async(std::launch::async, [&] {
    return link.send(std::vector<std::byte>(8), {}, Clock::now() + 200ms);
  });
  const bool ends = sent.wait_for(10s) == std::future_status::ready;
  EXPECT_TRUE(ends);
  client->close();  // ends all sends
  EXPECT_EQ(testing::fault_of(sent.get()), ends ? PlatformFault::kTimeout : PlatformFault::kLost);
}

}  // namespace
}  // namespace tapml::rpc
