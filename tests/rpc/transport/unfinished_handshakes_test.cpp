#include "rpc/transport/unfinished_handshakes.h"

#include <gtest/gtest.h>

#include "rpc/transport/connect.h"

namespace tapml::rpc {
namespace {

TEST(UnfinishedHandshakes, TheOldestIsEvicted) {
  UnfinishedHandshakes all(3, 2);
  EXPECT_FALSE(all.gives_way("a"));
  all.add(1, "a");
  all.add(2, "b");
  EXPECT_FALSE(all.gives_way("a"));
  all.add(3, "b");
  // The total limit is reached: the oldest of the peer with the most.
  EXPECT_EQ(all.gives_way("a"), 2);
  EXPECT_EQ(all.gives_way("c"), 2);
  all.remove(2);
  EXPECT_FALSE(all.gives_way("c"));
  all.add(4, "a");
  // Two of one peer: its own oldest, even if another peer has an older one.
  EXPECT_EQ(all.gives_way("a"), 1);
  // If all have equally many, the oldest of all.
  EXPECT_EQ(all.gives_way("c"), 1);
  all.remove(9);  // not registered
  EXPECT_EQ(all.count(), 3U);
  all.remove_if([](int64_t number) { return number < 4; });
  EXPECT_EQ(all.count(), 1U);
  EXPECT_FALSE(all.gives_way("b"));
}

TEST(UnfinishedHandshakes, APeerIsAnAddressOrANetwork) {
  const auto key = [](const std::string& host) {
    const auto addresses = resolve(*parse_endpoint(host), false);
    EXPECT_TRUE(addresses) << host;
    return addresses ? peer_key(addresses->front()) : "";
  };
  EXPECT_EQ(key("10.0.0.1:1"), key("10.0.0.1:2"));
  EXPECT_NE(key("10.0.0.1:1"), key("10.0.0.2:1"));
  EXPECT_EQ(key("10.0.0.1:1"), key("[::ffff:10.0.0.1]:1"));
  EXPECT_EQ(key("[2001:db8:0:1::1]:1"), key("[2001:db8:0:1:ffff::2]:1"));
  EXPECT_NE(key("[2001:db8:0:1::1]:1"), key("[2001:db8:0:2::1]:1"));
  EXPECT_EQ(key("unix:/a"), key("unix:/b"));
}

}  // namespace
}  // namespace tapml::rpc
