#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <functional>
#include <thread>

#include "pattern.h"
#include "rpc/transport/listener.h"
#include "rpc/transport/stream_channel.h"
#include "support/expect_error.h"
#include "support/fault_proxy.h"

namespace tapml::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using testing::expect_parts;
using testing::fault_of;
using testing::pattern;

runtime::Deadline in(int ms) { return Clock::now() + milliseconds(ms); }

struct Frame {
  std::vector<std::byte> head, payload;
};

Result<Frame> receive_frame(Channel& channel, runtime::Deadline deadline = {}) {
  Frame frame;
  uint64_t size = 0;
  TAPML_TRY(channel.receive(frame.head, size, deadline));
  frame.payload.resize(size);
  TAPML_TRY(channel.receive_payload(frame.payload, deadline));
  return frame;
}

// The two ends of each kind of connection.
struct Ends {
  std::unique_ptr<Channel> a, b;
};

Ends socket_ends(const ChannelLimits& limits = {}) {
  auto pair = make_socket_pair();
  return {make_stream_channel(std::move(pair->first), "b", limits),
          make_stream_channel(std::move(pair->second), "a", limits)};
}

Ends pipe_ends() {
  auto there = make_pipe(), back = make_pipe();
  return {std::make_unique<StreamChannel>(std::move(back->read), std::move(there->write), "b"),
          std::make_unique<StreamChannel>(std::move(there->read), std::move(back->write), "a")};
}

// The other end as a plain descriptor, for bytes that no channel would send.
struct RawEnd {
  std::unique_ptr<Channel> channel;
  FileDescriptor raw;
  void put(std::span<const std::byte> bytes) const {
    ASSERT_EQ(::send(raw.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
};

RawEnd raw_end() {
  auto pair = make_socket_pair();
  return {make_stream_channel(std::move(pair->first), "raw"), std::move(pair->second)};
}

std::vector<std::byte> frame_bytes(uint32_t head_size, uint64_t payload_size,
                                   std::span<const std::byte> rest = {}) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(head_size >> (8 * i)));
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(payload_size >> (8 * i)));
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

class Channels : public ::testing::TestWithParam<bool> {
 protected:
  Ends ends() const { return GetParam() ? pipe_ends() : socket_ends(); }
};

TEST_P(Channels, CarryFramesOfEverySizeBothWays) {
  Ends way = ends();
  const std::vector<std::pair<size_t, size_t>> sizes = {
      {1, 0}, {1, 1}, {200, 0}, {65535, 65537}, {7, 64 << 10}, {100 << 10, 3}, {60, 5 << 20}};
  std::thread mirror([&] {
    for (size_t i = 0; i < sizes.size(); ++i) {
      auto frame = receive_frame(*way.b, in(20'000));
      ASSERT_TRUE(frame) << frame.error().to_string();
      ASSERT_TRUE(way.b->send(frame->head, frame->payload, in(20'000)));
    }
  });
  for (const auto& [head, payload] : sizes) {
    const auto head_bytes = pattern(head, 3), payload_bytes = pattern(payload, 5);
    ASSERT_TRUE(way.a->send(head_bytes, payload_bytes));
    auto frame = receive_frame(*way.a);
    ASSERT_TRUE(frame) << frame.error().to_string();
    EXPECT_EQ(frame->head, head_bytes) << head;
    EXPECT_EQ(frame->payload, payload_bytes) << payload;
  }
  mirror.join();
}

TEST_P(Channels, TakePayloadsInPieces) {
  Ends way = ends();
  const auto payload = pattern(10'000, 1);
  ASSERT_TRUE(way.a->send(pattern(5, 0), payload));
  ASSERT_TRUE(way.a->send(pattern(6, 0), {}));
  std::vector<std::byte> head;
  uint64_t size = 0;
  ASSERT_TRUE(way.b->receive(head, size));
  ASSERT_EQ(size, payload.size());
  auto early = way.b->receive(head, size);  // the payload comes first
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().kind, ErrorKind::kInternal);
  std::vector<std::byte> came(payload.size());
  for (size_t at = 0; at < came.size(); at += 2500) {
    ASSERT_TRUE(way.b->receive_payload(std::span(came).subspan(at, 2500)));
  }
  EXPECT_EQ(came, payload);
  std::byte more[1];
  EXPECT_FALSE(way.b->receive_payload(more));
  ASSERT_TRUE(way.b->receive(head, size));
  EXPECT_EQ(head.size(), 6U);
}

TEST_P(Channels, TimeOutWhenNothingComes) {
  Ends way = ends();
  std::vector<std::byte> head;
  uint64_t size = 0;
  const auto start = Clock::now();
  auto nothing = way.a->receive(head, size, in(50));
  EXPECT_EQ(fault_of(nothing), PlatformFault::kTimeout);
  EXPECT_GE(Clock::now() - start, milliseconds(50));
  // An expired deadline still receives what has arrived.
  ASSERT_TRUE(way.b->send(pattern(4, 0), {}));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(way.a->receive(head, size, in(-1)));
}

TEST_P(Channels, GoOnWithAHalfSentFrameAfterATimeout) {
  Ends way = ends();
  const auto head = pattern(50, 1), payload = pattern(8 << 20, 2);
  ASSERT_EQ(fault_of(way.a->send(head, payload, in(50))), PlatformFault::kTimeout);
  auto other = way.a->send(head, {}, in(50));  // not in the middle of a frame
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::kInternal);
  std::thread reader([&] {
    auto frame = receive_frame(*way.b, in(20'000));
    ASSERT_TRUE(frame) << frame.error().to_string();
    EXPECT_EQ(frame->head, head);
    EXPECT_EQ(frame->payload, payload);
  });
  Status sent = way.a->send(head, payload, in(20'000));
  EXPECT_TRUE(sent) << sent.error().to_string();
  reader.join();
}

TEST_P(Channels, CloseWakesBothDirections) {
  for (const bool with_deadline : {false, true}) {
    Ends way = ends();
    const runtime::Deadline deadline = with_deadline ? in(30'000) : runtime::Deadline();
    const auto start = Clock::now();
    std::thread receiver([&] {
      std::vector<std::byte> head;
      uint64_t size = 0;
      auto received = way.a->receive(head, size, deadline);
      EXPECT_EQ(fault_of(received), PlatformFault::kLost);
      expect_parts(received.error(), {"closed locally"});
    });
    std::thread sender([&] {
      const auto payload = pattern(32 << 20, 2);  // more than the connection buffers
      EXPECT_EQ(fault_of(way.a->send(pattern(5, 1), payload, deadline)), PlatformFault::kLost);
    });
    std::this_thread::sleep_for(milliseconds(100));
    way.a->close();
    receiver.join();
    sender.join();
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
    std::vector<std::byte> head;
    uint64_t size = 0;
    EXPECT_EQ(fault_of(way.a->receive(head, size)), PlatformFault::kLost);
    EXPECT_EQ(fault_of(way.a->send(pattern(5, 1), {})), PlatformFault::kLost);
  }
}

TEST_P(Channels, AClosedEndIsLostWithoutASignal) {
  Ends way = ends();
  ASSERT_TRUE(way.b->send(pattern(9, 4), {}));
  way.b.reset();
  // Frames sent before are still received.
  auto frame = receive_frame(*way.a);
  ASSERT_TRUE(frame) << frame.error().to_string();
  auto end = receive_frame(*way.a);
  EXPECT_EQ(fault_of(end), PlatformFault::kLost);
  expect_parts(end.error(), {"closed by the other side"});
  EXPECT_EQ(end.error().to_string().find("within a frame"), std::string::npos);
  // SIGPIPE would end this program.
  EXPECT_EQ(fault_of(way.a->send(pattern(9, 4), pattern(100, 1))), PlatformFault::kLost);
}

INSTANTIATE_TEST_SUITE_P(Channel, Channels, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "pipes" : "socket");
});

TEST(Channel, TakesFramesThatComeByteByByteAcrossTimeouts) {
  RawEnd end = raw_end();
  const auto head = pattern(9, 3), payload = pattern(23, 9);
  auto bytes = frame_bytes(9, 23, head);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  std::vector<std::byte> head_came, payload_came(23);
  uint64_t size = 0;
  bool head_done = false;
  int timeouts = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    end.put(std::span(bytes).subspan(i, 1));
    Status status = head_done ? Status() : end.channel->receive(head_came, size, in(0));
    if (status && !head_done) {
      head_done = true;
      EXPECT_EQ(i, 12U + 9 - 1);
    }
    if (head_done) status = end.channel->receive_payload(payload_came, in(0));
    if (!status) {
      ASSERT_EQ(fault_of(status), PlatformFault::kTimeout) << status.error().to_string();
      ++timeouts;
    } else {
      EXPECT_EQ(i, bytes.size() - 1);
    }
  }
  EXPECT_EQ(timeouts, static_cast<int>(bytes.size()) - 1);
  EXPECT_EQ(head_came, head);
  EXPECT_EQ(payload_came, payload);
}

TEST(Channel, RefusesSizesBeyondTheLimitsBeforeAllocating) {
  const std::vector<std::pair<uint32_t, uint64_t>> sizes = {
      {0, 5}, {0xffffffff, 0}, {(4 << 20) + 1, 0}, {1, (64 << 20) + 1}, {1, ~uint64_t{0}}};
  for (const auto& [head, payload] : sizes) {
    RawEnd end = raw_end();
    end.put(frame_bytes(head, payload));
    auto frame = receive_frame(*end.channel, in(5000));
    EXPECT_EQ(fault_of(frame), PlatformFault::kProtocol);
    expect_parts(frame.error(), {"beyond the limits", std::to_string(head)});
  }
  Ends small = socket_ends({10, 20});
  EXPECT_TRUE(small.a->send(pattern(10, 0), pattern(20, 0)));
  EXPECT_TRUE(receive_frame(*small.b));
  EXPECT_EQ(fault_of(small.a->send(pattern(11, 0), {})), PlatformFault::kProtocol);
  EXPECT_EQ(fault_of(small.a->send(pattern(10, 0), pattern(21, 0))), PlatformFault::kProtocol);
}

TEST(Channel, AnEndInsideOfAFrameIsLost) {
  const auto whole = frame_bytes(4, 8, pattern(12, 1));
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    RawEnd end = raw_end();
    end.put(std::span(whole).first(cut));
    end.raw.reset();
    auto frame = receive_frame(*end.channel, in(5000));
    EXPECT_EQ(fault_of(frame), PlatformFault::kLost) << cut;
    expect_parts(frame.error(), {"within a frame"});
  }
}

TEST(Channel, NotesThatItIsInsideOfAFrame) {
  auto pair = make_socket_pair();
  std::atomic<bool> inside = false;
  StreamChannel channel(std::move(pair->first), FileDescriptor(), "b", {}, &inside);
  ASSERT_TRUE(channel.send(pattern(5, 0), pattern(5, 0), {}));
  EXPECT_FALSE(inside);
  ASSERT_FALSE(channel.send(pattern(5, 0), pattern(32 << 20, 0), in(20)));
  EXPECT_TRUE(inside);
}

TEST(Channel, TheLastFrameIsOneThatAChannelReads) {
  auto pair = make_socket_pair();
  auto channel = make_stream_channel(std::move(pair->first), "b");
  send_last_frame(pair->second.get(), pattern(3000, 7), in(1000));
  auto frame = receive_frame(*channel, in(5000));
  ASSERT_TRUE(frame) << frame.error().to_string();
  EXPECT_EQ(frame->head, pattern(3000, 7));
  EXPECT_TRUE(frame->payload.empty());
}

// An echo server behind a proxy: network faults are reported in time and with the right kind.
class Network {
 public:
  explicit Network(const testing::FaultProxy::Plan& plan) {
    auto listener = Listener::open(*parse_endpoint("127.0.0.1:0"), false);
    EXPECT_TRUE(listener);
    listener_ = std::move(*listener);
    proxy_ = std::make_unique<testing::FaultProxy>(listener_->endpoint(), std::vector{plan});
    mirror_ = std::thread([this] {
      wait_ready(listener_->get(), false, -1, in(20'000));
      auto channel = make_stream_channel(listener_->accept(), "the client");
      while (true) {
        auto frame = receive_frame(*channel, in(20'000));
        if (!frame) {
          end_ = frame.error();
          return;
        }
        if (!channel->send(frame->head, frame->payload, in(20'000))) return;
      }
    });
    auto connected = connect(proxy_->endpoint(), in(5000));
    EXPECT_TRUE(connected);
    client_ = std::move(*connected);
  }
  ~Network() { end(); }
  Channel& client() { return *client_; }
  // How the connection ended for the echo server.
  Error end() {
    if (client_) client_->close();
    if (mirror_.joinable()) mirror_.join();
    return end_;
  }

 private:
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<testing::FaultProxy> proxy_;
  std::thread mirror_;
  std::unique_ptr<Channel> client_;
  Error end_;
};

using Cut = testing::Fault::Cut;

TEST(ChannelFaults, DelaysAndThrottlesOnlyTakeTime) {
  Network network({{milliseconds(1), 97}, {milliseconds(1), 1013}});
  for (int i = 1; i < 4; ++i) {
    const auto head = pattern(100 * i, i), payload = pattern(2000 * i, i);
    ASSERT_TRUE(network.client().send(head, payload));
    auto frame = receive_frame(network.client(), in(20'000));
    ASSERT_TRUE(frame) << frame.error().to_string();
    EXPECT_EQ(frame->payload, payload);
  }
}

TEST(ChannelFaults, AStalledWayTimesOutAndACutOneIsLost) {
  const auto head = pattern(100, 1), payload = pattern(1000, 2);
  {
    Network network({{}, {.cut = Cut::kStall, .after = 500}});
    ASSERT_TRUE(network.client().send(head, payload));
    EXPECT_EQ(fault_of(receive_frame(network.client(), in(200))), PlatformFault::kTimeout);
  }
  for (const Cut cut : {Cut::kHalfClose, Cut::kClose, Cut::kReset}) {
    for (const int64_t after : {4, 60, 700}) {
      Network down({{}, {.cut = cut, .after = after}});
      ASSERT_TRUE(down.client().send(head, payload));
      EXPECT_EQ(fault_of(receive_frame(down.client(), in(5000))), PlatformFault::kLost)
          << static_cast<int>(cut) << " after " << after;
      Network up({{.cut = cut, .after = after}, {}});
      ASSERT_TRUE(up.client().send(head, payload));
      EXPECT_EQ(fault_of(receive_frame(up.client(), in(5000))), PlatformFault::kLost)
          << static_cast<int>(cut) << " after " << after;
      EXPECT_EQ(up.end().fault, PlatformFault::kLost);
    }
  }
}

}  // namespace
}  // namespace tapml::rpc
