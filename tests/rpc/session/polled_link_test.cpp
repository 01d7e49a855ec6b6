// Heartbeats from a single-threaded server.
#include "rpc/session/polled_link.h"

#include <gtest/gtest.h>

#include "rpc/session/wire.h"
#include "support/memory_channel.h"

namespace tapml::testing {
namespace {

using rpc::PolledLink;

class PolledLinkTest : public ::testing::Test {
 protected:
  // The number of frames that the client has, all heartbeats.
  int heartbeats() {
    int count = 0;
    std::vector<std::byte> head;
    uint64_t payload = 0;
    while (channels_.second->receive(head, payload, rpc::Clock::now())) {
      const auto* reply = rpc::verified<rpc::wire::Reply>(head);
      EXPECT_TRUE(reply && reply->answer_type() == rpc::wire::Answer::Heartbeat);
      EXPECT_EQ(payload, 0U);
      ++count;
    }
    return count;
  }
  std::pair<std::unique_ptr<rpc::Channel>, std::unique_ptr<rpc::Channel>> channels_ =
      memory_channels();
};

TEST_F(PolledLinkTest, SendsOneWhenItIsDue) {
  PolledLink link(*channels_.first, std::chrono::milliseconds(0));
  link.poll();
  EXPECT_EQ(heartbeats(), 0) << "nothing is waited for";
  link.begin_work();
  link.poll();
  link.poll();
  EXPECT_EQ(heartbeats(), 2);
  link.end_work();
  link.poll();
  EXPECT_EQ(heartbeats(), 0);
}

TEST_F(PolledLinkTest, SendsNoneBeforeItsTime) {
  PolledLink link(*channels_.first, std::chrono::hours(1));
  link.begin_work();
  for (int i = 0; i < 1000; ++i) link.poll();
  EXPECT_EQ(heartbeats(), 0);
}

}  // namespace
}  // namespace tapml::testing
