// A server's link with a second thread that looks after the client while the session works.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "rpc/session/condition.h"
#include "rpc/session/server_link.h"

namespace tapml::rpc {

// The attendant sends heartbeats, and reads ahead for a cancel or the end of the channel. Only one
// thread receives at a time: the attendant takes over when work lasts, and hands back what it read.
class AttendedLink final : public ServerLink {
 public:
  AttendedLink(Channel& channel, std::chrono::milliseconds heartbeat);
  ~AttendedLink() override;

  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline deadline) noexcept override;
  Status receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept override;
  Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
              runtime::Deadline deadline) noexcept override;
  void begin_work() noexcept override;
  void end_work() noexcept override;
  void look() noexcept override;

 private:
  // A frame that the attendant read ahead.
  struct Frame {
    std::vector<std::byte> head;
    uint64_t payload = 0;  // bytes of it, still in the channel
    Clock::time_point arrived;
  };

  void attend() noexcept;
  bool may_read_ahead() const noexcept;
  void read_ahead(std::unique_lock<std::mutex>& held, Clock::time_point until) noexcept;
  void keep_alive(std::unique_lock<std::mutex>& held) noexcept;
  void look_for_cancel(std::span<const std::byte> head) noexcept;

  const std::chrono::milliseconds heartbeat_;

  std::mutex sending_;
  std::atomic<Clock::time_point> last_sent_{Clock::now()};
  std::mutex lock_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Frame> ahead_;
  size_t ahead_bytes_ = 0;      // of their heads
  std::optional<Error> error_;  // of the channel, seen by the attendant
  uint64_t payload_left_ = 0;   // of the frame that the session has
  bool attendant_reads_ = false;
  bool working_ = false, asleep_ = false;
  std::atomic<bool> stop_{false};
  uint64_t works_ = 0;  // begun so far
  Clock::time_point last_work_ = Clock::now();

  std::vector<std::byte> head_;  // of the frame that is coming in, whoever receives it
  std::thread attendant_;
};

}  // namespace tapml::rpc
