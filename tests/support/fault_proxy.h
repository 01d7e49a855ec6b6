// A proxy between two ends of a connection that acts like a faulty network: it delays, throttles,
// cuts off inside a frame, closes one direction, resets.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "rpc/transport/connect.h"
#include "rpc/transport/listener.h"

namespace tapml::testing {

// The fault in one direction.
struct Fault {
  enum class Cut : uint8_t {
    kNever,
    kHalfClose,  // this direction ends, the other continues
    kClose,      // both directions end
    kReset,      // both directions end, unread bytes are lost
    kStall,      // no more bytes pass; the connection stays open
  };
  std::chrono::milliseconds delay{0};  // for each piece
  size_t piece = 64 << 10;             // bytes taken at once; with a delay, a throttle
  Cut cut = Cut::kNever;
  int64_t after = 0;  // bytes that pass before the cut or the hold
  bool hold = false;  // later bytes wait for release()
};

// Listens on its own port and connects each client to `target`. One fault for every connection, or
// one for each in connection order (the last for all later ones).
class FaultProxy {
 public:
  struct Plan {
    Fault up, down;  // to the target, and back
  };

  FaultProxy(rpc::Endpoint target, std::vector<Plan> plans)
      : target_(std::move(target)), plans_(std::move(plans)) {
    auto listener = rpc::Listener::open(*rpc::parse_endpoint("127.0.0.1:0"), false);
    if (!listener) {
      ADD_FAILURE() << listener.error().to_string();
      return;
    }
    listener_ = std::move(*listener);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~FaultProxy() {
    stop_ = true;
    if (acceptor_.joinable()) acceptor_.join();
    for (std::thread& pump : pumps_) pump.join();
  }
  FaultProxy(const FaultProxy&) = delete;

  // Encrypted if the target is: the bytes pass unchanged.
  rpc::Endpoint endpoint() const {
    rpc::Endpoint endpoint = listener_->endpoint();
    endpoint.tls = target_.tls;
    return endpoint;
  }
  int connections() const { return connections_; }
  // Whether bytes wait because of a Fault::hold, and releases them.
  bool holds() const { return holding_ > 0; }
  void release() { released_ = true; }
  // Bytes sent to the target and back, over all connections.
  int64_t passed_up() const { return passed_up_; }
  int64_t passed_down() const { return passed_down_; }

 private:
  struct Link {
    rpc::FileDescriptor client, target;
    std::atomic<bool> over = false;
  };

  // False once the proxy stops or the link is closed.
  bool wait_readable(int fd, const Link* link) const {
    while (!stop_ && (link == nullptr || !link->over)) {
      pollfd file = {fd, POLLIN, 0};
      if (::poll(&file, 1, 10) > 0) return true;
    }
    return false;
  }

  void accept_all() {
    while (wait_readable(listener_->get(), nullptr)) {
      auto link = std::make_shared<Link>();
      link->client = listener_->accept();
      const Plan plan = plans_.at(std::min<size_t>(connections_++, plans_.size() - 1));
      auto addresses = rpc::resolve(target_, false);
      if (!addresses) continue;
      auto socket = rpc::open_socket(addresses->front(), false, "proxy");
      if (!socket ||
          ::connect(socket->get(), addresses->front().get(), addresses->front().size) != 0) {
        continue;  // the client sees the end of the stream
      }
      link->target = std::move(*socket);
      rpc::tune_connection(link->target.get());
      pumps_.emplace_back([this, link, plan] {
        pump(*link, link->client.get(), link->target.get(), plan.up, passed_up_);
      });
      pumps_.emplace_back([this, link, plan] {
        pump(*link, link->target.get(), link->client.get(), plan.down, passed_down_);
      });
    }
  }

  void pump(Link& link, int from, int to, const Fault& fault, std::atomic<int64_t>& passed) {
    std::vector<char> bytes(fault.piece);
    int64_t left = fault.after;
    while (wait_readable(from, &link)) {
      const ssize_t count = ::recv(from, bytes.data(), bytes.size(), 0);
      if (count <= 0) {
        ::shutdown(to, SHUT_WR);
        return;
      }
      std::this_thread::sleep_for(fault.delay);
      if (fault.hold && left < count) hold();
      size_t send = static_cast<size_t>(count);
      if (fault.cut != Fault::Cut::kNever) send = std::min(send, static_cast<size_t>(left));
      if (!send_all(to, bytes.data(), send)) return;
      passed += static_cast<int64_t>(send);
      left -= static_cast<int64_t>(send);
      if (fault.cut == Fault::Cut::kNever || left > 0) continue;
      cut(link, to, fault.cut);
      return;
    }
  }

  void hold() {
    ++holding_;
    while (!stop_ && !released_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --holding_;
  }

  static bool send_all(int to, const char* bytes, size_t size) {
    while (size > 0) {
      const ssize_t sent = ::send(to, bytes, size, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes += sent;
      size -= static_cast<size_t>(sent);
    }
    return true;
  }

  void cut(Link& link, int to, Fault::Cut how) const {
    switch (how) {
      case Fault::Cut::kNever:
        return;
      case Fault::Cut::kHalfClose:
        ::shutdown(to, SHUT_WR);
        return;
      case Fault::Cut::kStall:
        while (!stop_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return;
      case Fault::Cut::kReset: {
        const linger now = {1, 0};
        ::setsockopt(link.client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        ::setsockopt(link.target.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        break;
      }
      case Fault::Cut::kClose:
        ::shutdown(link.client.get(), SHUT_RDWR);
        ::shutdown(link.target.get(), SHUT_RDWR);
        break;
    }
    link.over = true;  // both pumps release it, which closes it
  }

  rpc::Endpoint target_;
  std::vector<Plan> plans_;
  std::unique_ptr<rpc::Listener> listener_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> released_ = false;
  std::atomic<int> connections_ = 0, holding_ = 0;
  std::atomic<int64_t> passed_up_ = 0, passed_down_ = 0;
  std::thread acceptor_;
  std::list<std::thread> pumps_;
};

}  // namespace tapml::testing
