// A tracker with devices and clients of this process: bytes, queues, and what goes wrong.
#include "tracker/tracker.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <mutex>
#include <thread>

#include "device/null/null_device.h"
#include "io/json.h"
#include "rpc/session/remote_session.h"
#include "rpc/session/server_session.h"
#include "rpc/transport/socket.h"
#include "rpc/transport/stream_channel.h"
#include "rpc/transport/tracker_link.h"
#include "support/expect_error.h"
#ifdef TAPML_HAS_OPENSSL
#include "support/certificates.h"
#endif
#include "support/temp_folder.h"

namespace tapml::tracker {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using rpc::ByteStream;
using rpc::Endpoint;
using testing::expect_parts;
using testing::fault_of;
using Stream = std::unique_ptr<ByteStream>;

std::unique_ptr<Tracker> start(TrackerOptions options = {}) {
  if (options.endpoint.host.empty()) options.endpoint = *rpc::parse_endpoint("127.0.0.1:0");
  auto tracker = Tracker::listen(options);
  EXPECT_TRUE(tracker) << tracker.error().to_string();
  return tracker ? std::move(*tracker) : nullptr;
}

Endpoint at(const Tracker& tracker, const std::string& key = "lab") {
  Endpoint endpoint = tracker.endpoint();
  endpoint.kind = Endpoint::Kind::kTracker;
  endpoint.key = key;
  return endpoint;
}

Result<Stream> open(const Endpoint& endpoint, const rpc::TlsTrust& trust = {}) {
  return rpc::open_stream(endpoint, Clock::now() + 10s, trust, {});
}

Result<Stream> add_device(const Endpoint& endpoint, const std::string& token = "",
                          const rpc::TlsTrust& trust = {}) {
  TAPML_ASSIGN(Stream stream, open(endpoint, trust));
  TAPML_ASSIGN(const auto rest, rpc::register_device(*stream, endpoint, token, {}));
  EXPECT_TRUE(rest.empty());
  return stream;
}

rpc::LeaseRequest for_seconds(int64_t wait, int64_t priority = 0, const std::string& token = "") {
  rpc::LeaseRequest lease;
  lease.wait = std::chrono::seconds(wait);
  lease.priority = priority;
  lease.token = token;
  return lease;
}

Result<Stream> lease(const Endpoint& endpoint, const rpc::LeaseRequest& request = for_seconds(10),
                     const rpc::TlsTrust& trust = {}) {
  TAPML_ASSIGN(Stream stream, open(endpoint, trust));
  TAPML_TRY(rpc::take_lease(*stream, endpoint, request, {}));
  return stream;
}

void send(ByteStream& stream, std::string_view text) {
  auto rest = std::as_bytes(std::span(text));
  while (!rest.empty()) {
    const auto sent = stream.write_some(std::span(&rest, 1), Clock::now() + 10s);
    ASSERT_TRUE(sent) << sent.error().to_string();
    rest = rest.subspan(*sent);
  }
}

// Reads `size` bytes; fewer if the other side ends first.
std::string receive(ByteStream& stream, size_t size, Clock::duration limit = 10s) {
  std::string text;
  const auto until = Clock::now() + limit;
  while (text.size() < size) {
    std::byte bytes[4096];
    const auto count =
        stream.read_some(std::span(bytes).first(std::min(size - text.size(), sizeof bytes)), until);
    if (!count || *count == 0) break;
    text.append(reinterpret_cast<const char*>(bytes), *count);
  }
  return text;
}

// Whether the other side ends within five seconds.
bool ends(ByteStream& stream) {
  std::byte byte[1];
  const auto count = stream.read_some(byte, Clock::now() + 5s);
  return count ? *count == 0 : count.error().fault == PlatformFault::kLost;
}

Json status(const Tracker& tracker) {
  const Stream stream = *open(at(tracker));
  const auto text = rpc::ask_tracker_status(*stream, at(tracker), "", {});
  EXPECT_TRUE(text) << text.error().to_string();
  return text ? *parse_json(*text, "status") : Json();
}

size_t count_of(const Tracker& tracker, const char* what) {
  const Json json = status(tracker);
  size_t count = 0;
  for (const Json& key : json.find("keys")->items()) count += key.find(what)->items().size();
  return count;
}

bool becomes(const Tracker& tracker, const char* what, size_t count) {
  const auto until = Clock::now() + 5s;
  while (count_of(tracker, what) != count) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

TEST(Tracker, CarriesBytesBothWays) {
  const auto tracker = start();
  const Stream device = *add_device(at(*tracker));
  const Stream client = *lease(at(*tracker));
  send(*client, "hello");
  EXPECT_EQ(receive(*device, 5), "hello");
  send(*device, "welcome");
  EXPECT_EQ(receive(*client, 7), "welcome");
  // More than the buffers hold, in both directions at once.
  const std::string large(5 << 20, 'x');
  std::thread there([&] { send(*client, large); });
  std::thread back([&] { send(*device, large); });
  std::thread reader([&] { EXPECT_EQ(receive(*client, large.size()), large); });
  EXPECT_EQ(receive(*device, large.size()), large);
  there.join();
  back.join();
  reader.join();
}

TEST(Tracker, ASlowReaderHoldsTheSenderBack) {
  const auto tracker = start();
  const Stream device = *add_device(at(*tracker));
  const Stream client = *lease(at(*tracker));
  const std::string block(1 << 20, 'x');
  size_t sent = 0;
  while (sent < (size_t{1} << 30)) {
    auto bytes = std::as_bytes(std::span(block));
    const auto count = client->write_some(std::span(&bytes, 1), Clock::now() + 300ms);
    if (!count) break;
    sent += *count;
  }
  // What the system's sockets and one buffer of the tracker take.
  EXPECT_LT(sent, size_t{64} << 20);
  EXPECT_EQ(receive(*device, sent).size(), sent);
}

TEST(Tracker, ServesASession) {
  const auto tracker = start();
  rpc::StreamChannel channel(*add_device(at(*tracker)));
  std::thread device([&] {
    rpc::ServerOptions options;
    options.open_device = [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
      return std::make_shared<device::NullDevice>();
    };
    EXPECT_TRUE(rpc::serve_session(channel, options));
  });
  {
    auto leased = rpc::connect(at(*tracker), Clock::now() + 10s);
    ASSERT_TRUE(leased) << leased.error().to_string();
    rpc::ConnectOptions options;
    options.target = "null";
    auto session = rpc::RemoteSession::connect(std::move(*leased), options);
    ASSERT_TRUE(session) << session.error().to_string();
    EXPECT_EQ((*session)->info().platform, "null");
  }
  device.join();
}

TEST(Tracker, AClientThatWaitsIsServedByTheDeviceThatComes) {
  const auto tracker = start();
  std::thread client([&] {
    const Stream stream = *lease(at(*tracker));
    send(*stream, "hello");
    EXPECT_EQ(receive(*stream, 2), "ok");
  });
  ASSERT_TRUE(becomes(*tracker, "waiting", 1));
  const Stream device = *open(at(*tracker));
  // The client's first bytes may come with the tracker's answer.
  const auto rest = rpc::register_device(*device, at(*tracker), "", {});
  ASSERT_TRUE(rest);
  const std::string first(reinterpret_cast<const char*>(rest->data()), rest->size());
  EXPECT_EQ(first + receive(*device, 5 - first.size()), "hello");
  send(*device, "ok");
  client.join();
}

TEST(Tracker, ClientsWaitWithTheirPlace) {
  const auto tracker = start();
  const Stream device = *add_device(at(*tracker));
  Stream first = *lease(at(*tracker));
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> places;
  std::vector<std::string> served;
  const auto wait = [&](const char* name, int64_t priority, bool noted) {
    rpc::LeaseRequest request = for_seconds(20, priority);
    if (noted) {
      request.waiting = [&](const rpc::LeasePlace& place) {
        const std::lock_guard lock(mutex);
        places.emplace_back(place.place, place.devices);
      };
    }
    auto leased = lease(at(*tracker), request);
    ASSERT_TRUE(leased) << leased.error().to_string();
    const std::lock_guard lock(mutex);
    served.emplace_back(name);
  };
  std::thread low([&] { wait("low", -1, true); });
  ASSERT_TRUE(becomes(*tracker, "waiting", 1));
  std::thread high([&] { wait("high", 1, false); });
  ASSERT_TRUE(becomes(*tracker, "waiting", 2));
  first.reset();
  EXPECT_TRUE(ends(*device));
  const Stream second = *add_device(at(*tracker));
  high.join();
  const Stream third = *add_device(at(*tracker));
  low.join();
  EXPECT_EQ(served, (std::vector<std::string>{"high", "low"}));
  ASSERT_GE(places.size(), 2U);
  EXPECT_EQ(places[0], std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(places[1], std::pair(int64_t{2}, int64_t{1}));
}

TEST(Tracker, AWaitEnds) {
  const auto tracker = start();
  const Stream device = *add_device(at(*tracker, "other"));
  const auto late = lease(at(*tracker), for_seconds(0));
  EXPECT_EQ(fault_of(late), PlatformFault::kTimeout);
  if (!late) expect_parts(late.error(), {"no device with the key lab", "0 devices"});
  const auto began = Clock::now();
  EXPECT_EQ(fault_of(lease(at(*tracker), for_seconds(1))), PlatformFault::kTimeout);
  EXPECT_GE(Clock::now() - began, 900ms);
  EXPECT_TRUE(becomes(*tracker, "waiting", 0));
  // Interrupted.
  const Stream stream = *open(at(*tracker));
  const auto stop = Clock::now() + 100ms;
  const Status interrupted =
      rpc::take_lease(*stream, at(*tracker), for_seconds(100), [&] { return Clock::now() > stop; });
  EXPECT_EQ(fault_of(interrupted), PlatformFault::kCancelled);
}

TEST(Tracker, WhoVanishesEndsTheLease) {
  const auto tracker = start();
  {
    Stream device = *add_device(at(*tracker));
    const Stream client = *lease(at(*tracker));
    send(*device, "last words");
    device.reset();
    EXPECT_EQ(receive(*client, 100), "last words");
    EXPECT_TRUE(ends(*client));
  }
  {
    const Stream device = *add_device(at(*tracker));
    Stream client = *lease(at(*tracker));
    client.reset();
    EXPECT_TRUE(ends(*device));
  }
  {  // a device that nobody has leased, and a client that waits
    Stream device = *add_device(at(*tracker, "a"));
    ASSERT_TRUE(becomes(*tracker, "devices", 1));
    device.reset();
    EXPECT_TRUE(becomes(*tracker, "devices", 0));
    Stream client = *open(at(*tracker));
    send(*client, "GET /lease?key=b HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: tapml\r\n\r\n");
    ASSERT_TRUE(becomes(*tracker, "waiting", 1));
    client.reset();
    EXPECT_TRUE(becomes(*tracker, "waiting", 0));
  }
}

TEST(Tracker, WhoSpeaksBeforeItsTurnIsDropped) {
  const auto tracker = start();
  const Stream device = *add_device(at(*tracker));
  send(*device, "too early");
  EXPECT_TRUE(ends(*device));
  EXPECT_TRUE(becomes(*tracker, "devices", 0));
  const Stream client = *open(at(*tracker));
  send(*client, "GET /lease?key=b HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: tapml\r\n\r\n");
  ASSERT_TRUE(becomes(*tracker, "waiting", 1));
  send(*client, "too early");
  EXPECT_TRUE(becomes(*tracker, "waiting", 0));
}

TEST(Tracker, AWrongTokenIsRefused) {
  TrackerOptions options;
  options.token = "s3cret";
  const auto tracker = start(options);
  EXPECT_EQ(fault_of(add_device(at(*tracker))), PlatformFault::kUnauthorized);
  EXPECT_EQ(fault_of(add_device(at(*tracker), "other")), PlatformFault::kUnauthorized);
  EXPECT_EQ(fault_of(lease(at(*tracker))), PlatformFault::kUnauthorized);
  const Stream stream = *open(at(*tracker));
  EXPECT_EQ(fault_of(rpc::ask_tracker_status(*stream, at(*tracker), "x", {})),
            PlatformFault::kUnauthorized);
  const auto device = add_device(at(*tracker), "s3cret");
  ASSERT_TRUE(device);
  EXPECT_TRUE(lease(at(*tracker), for_seconds(5, 0, "s3cret")));
  EXPECT_FALSE(add_device(at(*tracker), "s3cret\r\nHost: evil"));
}

TEST(Tracker, ListensBeyondThisMachineWithATokenAndTlsOnly) {
  for (const bool token : {false, true}) {
    TrackerOptions options;
    options.endpoint = *rpc::parse_endpoint("0.0.0.0:0");
    options.insecure = !token;
    options.token = token ? "s3cret" : "";
    const auto refused = Tracker::listen(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kUser);
  }
  Endpoint far = *rpc::parse_endpoint("tracker:192.0.2.1:9190/lab");
  const auto refused = rpc::open_stream(far, Clock::now() + 200ms, {"", true}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUser);
  expect_parts(refused.error(), {"without encryption", "tracker:tls:192.0.2.1:9190/lab"});
  TrackerOptions bad;
  bad.origins = {"lab.example/page"};
  bad.endpoint = *rpc::parse_endpoint("127.0.0.1:0");
  EXPECT_FALSE(Tracker::listen(bad));
}

TEST(Tracker, RefusesMoreThanItsLimits) {
  TrackerOptions options;
  options.devices = 2;
  options.waiting = 1;
  const auto tracker = start(options);
  const auto one = add_device(at(*tracker)), two = add_device(at(*tracker));
  ASSERT_TRUE(one && two);
  const auto three = add_device(at(*tracker));
  EXPECT_EQ(fault_of(three), PlatformFault::kLimit);
  const Stream waits = *open(at(*tracker));
  send(*waits, "GET /lease?key=b HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: tapml\r\n\r\n");
  ASSERT_TRUE(becomes(*tracker, "waiting", 1));
  EXPECT_EQ(fault_of(lease(at(*tracker, "c"), for_seconds(5))), PlatformFault::kLimit);
}

TEST(Tracker, GarbageIsRefused) {
  const auto tracker = start();
  for (const std::string& text :
       {std::string("\x16\x03\x01\x02\x00\x01", 6) + std::string(100, '\0'),
        std::string("garbage\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        "GET /" + std::string(20000, 'x') + " HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nX: " + std::string(20000, 'x'),
        std::string("GET /device?key=a HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: tapml\r\n\r\nmore"),
        std::string("GET /device?key=a HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
                    "Upgrade: websocket\r\nSec-WebSocket-Version: 99\r\n\r\n")}) {
    const Stream stream = *open(at(*tracker));
    send(*stream, text);
    const std::string answer = receive(*stream, 1 << 16);  // until its end
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 4")) << answer;
  }
  EXPECT_EQ(count_of(*tracker, "devices"), 0U);
  EXPECT_TRUE(add_device(at(*tracker)));
}

TEST(Tracker, ARequestHasItsTime) {
  TrackerOptions options;
  options.handshake = 300ms;
  options.unfinished_of_peer = 3;
  const auto tracker = start(options);
  const Stream slow = *open(at(*tracker));
  const auto began = Clock::now();
  std::thread drips([&] {  // a byte now and then does not extend it
    for (const char c : std::string_view("GET /status HTTP/1.1\r\nHost: ")) {
      auto byte = std::as_bytes(std::span(&c, 1));
      if (!slow->write_some(std::span(&byte, 1), Clock::now() + 1s)) return;
      std::this_thread::sleep_for(30ms);
    }
  });
  EXPECT_TRUE(ends(*slow));
  EXPECT_LT(Clock::now() - began, 2s);
  drips.join();
  // The oldest silent connection makes room, and those that ask are served at once.
  std::vector<Stream> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(*open(at(*tracker)));
  EXPECT_TRUE(ends(*silent.front()));
  EXPECT_TRUE(add_device(at(*tracker)));
}

TEST(Tracker, WhoIsNoTrackerIsNoticed) {
  auto pair = rpc::make_socket_pair();
  ASSERT_TRUE(pair);
  const Stream here = rpc::make_file_stream(std::move(pair->first), {}, "here");
  const Stream there = rpc::make_file_stream(std::move(pair->second), {}, "there");
  send(*there, "SSH-2.0-OpenSSH_9.2\r\n\r\n");
  const Status refused = rpc::take_lease(*here, *rpc::parse_endpoint("tracker:x:1/lab"), {}, {});
  EXPECT_EQ(fault_of(refused), PlatformFault::kProtocol);
  if (!refused) expect_parts(refused.error(), {"not a tracker", "tapml rpc tracker"});
}

TEST(Tracker, ManyDevicesRegister) {
  const auto tracker = start();
  std::vector<Stream> devices;
  for (int i = 0; i < 1000; ++i) {
    auto device = add_device(at(*tracker, "key" + std::to_string(i % 10)));
    ASSERT_TRUE(device) << device.error().to_string();
    devices.push_back(std::move(*device));
  }
  EXPECT_EQ(count_of(*tracker, "devices"), 1000U);
  const Stream client = *lease(at(*tracker, "key7"));
  send(*client, "x");
  EXPECT_EQ(receive(*devices[7], 1), "x");  // the one that waits longest
}

// A tab: a WebSocket whose page has an origin.
class Tab {
 public:
  using Socket = boost::beast::websocket::stream<boost::beast::tcp_stream>;
  Tab(const Tracker& tracker, const std::string& query, const std::string& origin) : socket_(io_) {
    namespace beast = boost::beast;
    const boost::asio::ip::tcp::endpoint endpoint(boost::asio::ip::make_address("127.0.0.1"),
                                                  tracker.endpoint().port);
    beast::get_lowest_layer(socket_).connect(endpoint);
    socket_.set_option(beast::websocket::stream_base::decorator([&](auto& request) {
      if (!origin.empty()) request.set(beast::http::field::origin, origin);
    }));
    beast::websocket::response_type response;
    boost::system::error_code error;
    socket_.handshake(response, "127.0.0.1:" + std::to_string(tracker.endpoint().port),
                      "/device?" + query, error);
    status_ = response.result_int();
    socket_.binary(true);
  }
  unsigned status() const { return status_; }
  // Of the tracker's closing, after a read that has seen it.
  int code() const { return socket_.reason().code; }
  std::string reason() const {
    return {socket_.reason().reason.data(), socket_.reason().reason.size()};
  }
  Socket& socket() { return socket_; }
  std::string read(size_t size) {
    std::string text;
    boost::system::error_code error;
    while (text.size() < size) {
      boost::beast::flat_buffer buffer;
      socket_.read(buffer, error);
      if (error) break;
      text += boost::beast::buffers_to_string(buffer.data());
    }
    return text;
  }
  bool write(const std::string& text) {
    boost::system::error_code error;
    socket_.write(boost::asio::buffer(text), error);
    return !error;
  }

 private:
  boost::asio::io_context io_;
  Socket socket_;
  unsigned status_ = 0;
};

std::string own_origin(const Tracker& tracker) {
  return "http://127.0.0.1:" + std::to_string(tracker.endpoint().port);
}

TEST(TrackerTab, ATabIsADevice) {
  TrackerOptions options;
  options.token = "s3cret";
  const auto tracker = start(options);
  Tab tab(*tracker, "key=tab&token=s3cret", own_origin(*tracker));
  ASSERT_EQ(tab.status(), 101U);
  Stream client = *lease(at(*tracker, "tab"), for_seconds(5, 0, "s3cret"));
  const std::string large(3 << 20, 'y');
  std::thread sender([&] { send(*client, large); });
  EXPECT_EQ(tab.read(large.size()), large);
  sender.join();
  std::thread writer([&] { EXPECT_TRUE(tab.write(large)); });
  EXPECT_EQ(receive(*client, large.size()), large);
  writer.join();
  client.reset();
  EXPECT_EQ(tab.read(1), "");  // closed
}

TEST(TrackerTab, ATabThatClosesEndsTheLease) {
  const auto tracker = start();
  auto tab = std::make_unique<Tab>(*tracker, "key=tab", own_origin(*tracker));
  ASSERT_EQ(tab->status(), 101U);
  const Stream client = *lease(at(*tracker, "tab"));
  send(*client, "x");
  EXPECT_EQ(tab->read(1), "x");
  tab.reset();
  EXPECT_TRUE(ends(*client));
  EXPECT_TRUE(becomes(*tracker, "devices", 0));
}

TEST(TrackerTab, ATabThatAsksGetsSignsOfLifeBesideTheBytes) {
  const auto tracker = start();
  Tab tab(*tracker, "key=tab&signs=1", own_origin(*tracker));
  ASSERT_EQ(tab.status(), 101U);
  EXPECT_EQ(tab.read(5), "alive");  // at once
  EXPECT_TRUE(tab.socket().got_text());
  const Stream client = *lease(at(*tracker, "tab"));
  const std::string large(8 << 20, 'y');
  std::thread sender([&] { send(*client, large); });
  // Signs come between messages, and a slow reader delays them.
  std::string bytes;
  int signs = 0;
  while (bytes.size() < large.size() || signs < 2) {
    boost::beast::flat_buffer buffer;
    boost::system::error_code error;
    tab.socket().read(buffer, error);
    ASSERT_FALSE(error) << error.message();
    const std::string text = boost::beast::buffers_to_string(buffer.data());
    if (tab.socket().got_text()) {
      EXPECT_EQ(text, "alive");
      if (++signs == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    } else {
      bytes += text;
    }
  }
  sender.join();
  EXPECT_EQ(bytes, large);
  // Without the parameter nothing comes before a client.
  Tab silent(*tracker, "key=silent", own_origin(*tracker));
  const Stream other = *lease(at(*tracker, "silent"));
  send(*other, "x");
  EXPECT_EQ(silent.read(1), "x");
  EXPECT_FALSE(silent.socket().got_text());
}

TEST(TrackerTab, OtherOriginsAndTokensAreRefused) {
  TrackerOptions options;
  options.token = "s3cret";
  options.origins = {"https://lab.example"};
  const auto tracker = start(options);
  EXPECT_EQ(Tab(*tracker, "key=t&token=s3cret", "http://evil.example").status(), 403U);
  EXPECT_EQ(Tab(*tracker, "key=t&token=s3cret", "null").status(), 403U);
  Tab wrong(*tracker, "key=t&token=other", own_origin(*tracker));
  EXPECT_EQ(wrong.read(1), "");
  EXPECT_EQ(wrong.code(), 4401);
  EXPECT_EQ(wrong.reason(), "the token is wrong");
  Tab without(*tracker, "key=t", own_origin(*tracker));
  EXPECT_EQ(without.read(1), "");
  EXPECT_EQ(without.reason(), "the tracker needs a token");
  // A page of another origin learns nothing, whatever it asks for.
  EXPECT_EQ(Tab(*tracker, "%", "http://evil.example").status(), 403U);
  EXPECT_EQ(Tab(*tracker, "key=t&token=s3cret", "https://lab.example").status(), 101U);
}

TEST(TrackerTab, AFullTrackerSaysSo) {
  TrackerOptions options;
  options.devices = 1;
  const auto tracker = start(options);
  const Tab first(*tracker, "key=t", own_origin(*tracker));
  EXPECT_TRUE(becomes(*tracker, "devices", 1));
  Tab second(*tracker, "key=t", own_origin(*tracker));
  EXPECT_EQ(second.read(1), "");
  EXPECT_EQ(second.code(), 4503);
  EXPECT_EQ(second.reason(), "the tracker has as many devices as it takes");
}

TEST(TrackerTab, BadMessagesEndIt) {
  TrackerOptions options;
  options.message_bytes = 1 << 20;
  const auto tracker = start(options);
  {
    Tab tab(*tracker, "key=t", own_origin(*tracker));
    const Stream client = *lease(at(*tracker, "t"));
    send(*client, "x");
    EXPECT_EQ(tab.read(1), "x");
    tab.socket().text(true);
    tab.write("text");
    EXPECT_TRUE(ends(*client));
  }
  {
    Tab tab(*tracker, "key=t", own_origin(*tracker));
    const Stream client = *lease(at(*tracker, "t"));
    send(*client, "x");
    EXPECT_EQ(tab.read(1), "x");
    tab.socket().auto_fragment(false);
    std::thread writer([&] { tab.write(std::string(2 << 20, 'x')); });
    EXPECT_LT(receive(*client, 2 << 20).size(), size_t{2} << 20);
    writer.join();
  }
  Tab early(*tracker, "key=t", own_origin(*tracker));
  early.write("too early");
  EXPECT_EQ(early.read(1), "");
  EXPECT_TRUE(becomes(*tracker, "devices", 0));
}

#ifdef TAPML_HAS_OPENSSL
TEST(TrackerTls, CarriesBytes) {
  testing::TempFolder folder;
  const testing::Authority authority("a lab");
  authority.write_root(folder / "root.pem");
  authority.issue(folder / "cert.pem", folder / "key.pem");
  TrackerOptions options;
  options.endpoint = *rpc::parse_endpoint("tls:127.0.0.1:0");
  options.tls_certificate = folder / "cert.pem";
  options.tls_key = folder / "key.pem";
  options.token = "s3cret";
  const auto tracker = start(options);
  const rpc::TlsTrust trust{folder / "root.pem", true};
  const auto device = add_device(at(*tracker), "s3cret", trust);
  ASSERT_TRUE(device) << device.error().to_string();
  auto client = lease(at(*tracker), for_seconds(5, 0, "s3cret"), trust);
  ASSERT_TRUE(client) << client.error().to_string();
  const std::string large(1 << 20, 'z');
  std::thread sender([&] { send(**client, large); });
  EXPECT_EQ(receive(**device, large.size()), large);
  sender.join();
  send(**device, "back");
  EXPECT_EQ(receive(**client, 4), "back");
  client->reset();
  EXPECT_TRUE(ends(**device));
  // Another root, and no TLS at all.
  EXPECT_FALSE(add_device(at(*tracker), "s3cret"));
  Endpoint plain = at(*tracker);
  plain.tls = false;
  EXPECT_FALSE(add_device(plain, "s3cret"));
  options.tls_key = folder / "cert.pem";
  EXPECT_FALSE(Tracker::listen(options));
}
#endif

}  // namespace
}  // namespace tapml::tracker
