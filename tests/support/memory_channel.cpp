#include "support/memory_channel.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

namespace tapml::testing {

namespace {

struct Frame {
  std::vector<std::byte> head, payload;
  size_t size() const { return head.size() + payload.size(); }
};

// Frames of one direction.
struct Way {
  explicit Way(size_t bytes) : room(bytes) {}
  const size_t room;
  std::mutex lock;
  std::condition_variable changed;
  std::deque<Frame> frames;
  size_t bytes = 0;
  bool closed = false;

  template <class Ready>
  Status wait(std::unique_lock<std::mutex>& held, const runtime::Deadline& deadline, Ready ready) {
    while (!ready()) {
      if (closed) return fail(platform_error(PlatformFault::kLost, "the channel is closed"));
      if (!deadline) {
        changed.wait(held);
      } else if (changed.wait_until(held, *deadline) == std::cv_status::timeout && !ready()) {
        return fail(platform_error(PlatformFault::kTimeout, "the channel's deadline passed"));
      }
    }
    return {};
  }
};

class MemoryChannel final : public rpc::Channel {
 public:
  MemoryChannel(std::shared_ptr<Way> out, std::shared_ptr<Way> in)
      : out_(std::move(out)), in_(std::move(in)) {}
  ~MemoryChannel() override { close(); }

  Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
              runtime::Deadline deadline) noexcept override {
    std::unique_lock held(out_->lock);
    const size_t size = head.size() + payload.size();
    TAPML_TRY(out_->wait(held, deadline, [&] {
      return !out_->closed && (out_->bytes == 0 || out_->bytes + size <= out_->room);
    }));
    out_->frames.push_back({{head.begin(), head.end()}, {payload.begin(), payload.end()}});
    out_->bytes += size;
    out_->changed.notify_all();
    return {};
  }
  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline deadline) noexcept override {
    std::unique_lock held(in_->lock);
    TAPML_TRY(in_->wait(held, deadline, [&] { return !in_->frames.empty(); }));
    current_ = std::move(in_->frames.front());
    in_->frames.pop_front();
    in_->bytes -= current_.size();
    in_->changed.notify_all();
    head = current_.head;
    payload_bytes = current_.payload.size();
    at_ = 0;
    return {};
  }
  Status receive_payload(std::span<std::byte> to, runtime::Deadline) noexcept override {
    if (to.size() > current_.payload.size() - at_) {
      return fail(platform_error(PlatformFault::kLost, "the payload is shorter"));
    }
    if (!to.empty()) std::memcpy(to.data(), current_.payload.data() + at_, to.size());
    at_ += to.size();
    return {};
  }
  void close() noexcept override {
    for (Way* way : {out_.get(), in_.get()}) {
      std::lock_guard guard(way->lock);
      way->closed = true;
      way->changed.notify_all();
    }
  }

 private:
  std::shared_ptr<Way> out_, in_;
  Frame current_;
  size_t at_ = 0;
};

}  // namespace

std::pair<std::unique_ptr<rpc::Channel>, std::unique_ptr<rpc::Channel>> memory_channels(
    size_t room) {
  auto there = std::make_shared<Way>(room), back = std::make_shared<Way>(room);
  return {std::make_unique<MemoryChannel>(there, back),
          std::make_unique<MemoryChannel>(back, there)};
}

MemoryServer::MemoryServer(rpc::ServerOptions options) : options_(std::move(options)) { start(); }

MemoryServer::MemoryServer(const std::shared_ptr<runtime::Device>& device) {
  options_.open_device = [device](const std::string&) { return device; };
  start();
}

void MemoryServer::start() {
  std::tie(server_, client_) = memory_channels();
  thread_ = std::thread([this] {
    ended_ = rpc::serve_session(*server_, options_);
    server_->close();
  });
}

MemoryServer::~MemoryServer() {
  const Status ended = join();
  static_cast<void>(ended);  // a test that asks has already joined
}

Status MemoryServer::join() {
  if (client_) client_->close();
  if (thread_.joinable()) thread_.join();
  return ended_;
}

std::unique_ptr<rpc::RemoteSession> MemoryServer::connect(const rpc::ConnectOptions& options) {
  auto session = rpc::RemoteSession::connect(take_client(), options);
  EXPECT_TRUE(session) << session.error().to_string();
  return session ? std::move(*session) : nullptr;
}

}  // namespace tapml::testing
