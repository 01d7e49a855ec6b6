// The tracker: leases among many devices, and the rate of the bytes that it carries.
#include <thread>

#include "cases.h"
#include "ir/exceptions.h"
#include "rpc/transport/listener.h"
#include "rpc/transport/tracker_link.h"
#include "tracker/tracker.h"

namespace tapml::bench {

namespace {

constexpr int kDevices = 1000;
constexpr size_t kRelayedBytes = size_t{256} << 20;

using Stream = std::unique_ptr<rpc::ByteStream>;

class Tracked {
 public:
  Tracked() {
    tracker::TrackerOptions options;
    options.endpoint = *rpc::parse_endpoint("127.0.0.1:0");
    tracker_ = unwrap(tracker::Tracker::listen(options));
    endpoint_ = tracker_->endpoint();
    endpoint_.kind = rpc::Endpoint::Kind::kTracker;
    endpoint_.key = "bench";
  }
  Stream open() { return unwrap(rpc::open_stream(endpoint_, {}, {}, {})); }
  Stream device() {
    Stream stream = open();
    unwrap(rpc::register_device(*stream, endpoint_, "", {}));
    return stream;
  }
  Stream lease() {
    Stream stream = open();
    unwrap(rpc::take_lease(*stream, endpoint_, {}, {}));
    return stream;
  }

 private:
  std::unique_ptr<tracker::Tracker> tracker_;
  rpc::Endpoint endpoint_;
};

// Milliseconds from nothing to a lease, connecting included. The device that was leased registers
// again, outside of the time.
Pair lease_time(std::string&) {
  struct Crowd {
    Tracked tracked;
    std::vector<Stream> devices;
    size_t next = 0;
  };
  auto crowd = std::make_shared<Crowd>();
  for (int i = 0; i < kDevices; ++i) crowd->devices.push_back(crowd->tracked.device());
  return {[crowd] {
            const double start = seconds_now();
            Stream client = crowd->tracked.lease();
            const double milliseconds = 1000 * (seconds_now() - start);
            client.reset();
            crowd->devices[crowd->next++ % kDevices] = crowd->tracked.device();
            return milliseconds;
          },
          nullptr};
}

// Bytes per second from one stream to the other.
double rate(rpc::ByteStream& from, rpc::ByteStream& to) {
  const std::vector<std::byte> block(size_t{1} << 20);
  const double start = seconds_now();
  std::thread sender([&] {
    for (size_t sent = 0; sent < kRelayedBytes;) {
      std::span<const std::byte> bytes = block;
      sent += unwrap(from.write_some(std::span(&bytes, 1), {}));
    }
  });
  std::vector<std::byte> taken(size_t{1} << 20);
  for (size_t received = 0; received < kRelayedBytes;) received += unwrap(to.read_some(taken, {}));
  sender.join();
  return static_cast<double>(kRelayedBytes) / (seconds_now() - start) / (1 << 20);
}

Pair carried_bytes(std::string&) {
  struct Ways {
    Tracked tracked;
    Stream device = tracked.device(), client = tracked.lease(), here, there;
  };
  auto ways = std::make_shared<Ways>();
  const auto listener = unwrap(rpc::Listener::open(*rpc::parse_endpoint("127.0.0.1:0"), false));
  ways->here = unwrap(rpc::open_stream(listener->endpoint(), {}, {}, {}));
  ways->there = rpc::make_file_stream(listener->accept(), {}, "the other end");
  return {[ways] { return rate(*ways->client, *ways->device); },
          [ways] { return rate(*ways->here, *ways->there); }};
}

}  // namespace

std::vector<Case> tracker_cases() {
  return {
      {.name = "tracker: lease one of 1,000 devices",
       .unit = "ms",
       .bound = Bound::kAtMost,
       .bar = 10,
       .figure = true,
       .prepare = lease_time},
      {.name = "tracker: bytes of a lease",
       .unit = "MiB/s",
       .peer = "a bare socket",
       .no_bar = true,
       .prepare = carried_bytes},
  };
}

}  // namespace tapml::bench
