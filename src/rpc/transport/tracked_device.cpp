#include "rpc/transport/tracked_device.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include "rpc/transport/tracker_link.h"
#include "rpc/transport/worker.h"

namespace tapml::rpc {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{30'000};
constexpr size_t kRelayBytes = 256 << 10;

// Carries bytes between the tracker's connection and the process that serves the session. That
// process never has the connection, nor the keys of TLS.
class Carrier {
 public:
  Carrier(ByteStream& tracker, ByteStream& session) : tracker_(tracker), session_(session) {}

  // Until one of the sides ends.
  Status run(std::span<const std::byte> first, const std::atomic<bool>& stop) noexcept {
    write_all(session_, first);
    std::thread down;
    try {
      down = std::thread([this, &stop] { carry(session_, tracker_, stop); });
    } catch (const std::system_error& none) {
      tracker_.close();
      session_.close();
      return fail(platform_error(PlatformFault::kLimit,
                                 std::string("no thread for a session: ") + none.what()));
    }
    carry(tracker_, session_, stop);
    down.join();
    return {};
  }

 private:
  bool write_all(ByteStream& to, std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
      const auto sent = to.write_some(std::span(&bytes, 1), {});
      if (!sent) return false;
      bytes = bytes.subspan(*sent);
    }
    return true;
  }
  void carry(ByteStream& from, ByteStream& to, const std::atomic<bool>& stop) noexcept {
    std::vector<std::byte> bytes(kRelayBytes);
    while (!over_ && !stop) {
      const auto count = from.read_some(bytes, Clock::now() + kTick);
      if (!count && count.error().fault == PlatformFault::kTimeout) continue;
      if (!count || *count == 0 || !write_all(to, std::span(bytes).first(*count))) break;
    }
    over_ = true;
    // Ends calls in progress on the other thread too; what the system has taken is still sent.
    tracker_.close();
    session_.close();
  }

  ByteStream& tracker_;
  ByteStream& session_;
  std::atomic<bool> over_ = false;
};

class Registration {
 public:
  Registration(const TrackedDevice& device, const ListenOptions& options,
               const std::atomic<bool>& stop)
      : device_(device),
        options_(options),
        stop_(stop),
        stopped_([&stop] { return stop.load(); }) {}

  // Registers and waits for a client: its first bytes.
  Status wait_for_client() noexcept {
    TAPML_ASSIGN(stream_, open_stream(device_.tracker, Clock::now() + std::chrono::seconds(10),
                                      device_.trust, stopped_));
    TAPML_ASSIGN(first_, register_device(*stream_, device_.tracker, device_.token, stopped_));
    log("registered at " + device_.tracker.text());
    registered_ = true;
    if (device_.registered) device_.registered();
    std::vector<std::byte> bytes(4096);
    while (first_.empty()) {
      if (stop_) return fail(platform_error(PlatformFault::kCancelled, "the server was ended"));
      const auto count = stream_->read_some(bytes, Clock::now() + kTick);
      if (!count && count.error().fault == PlatformFault::kTimeout) continue;
      if (!count) return fail(count.error());
      if (*count == 0) return fail(stream_->lost("was ended by the tracker"));
      first_.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(*count));
    }
    return {};
  }

  // Serves the client in a process of its own, and waits for its end.
  Status serve() noexcept {
    TAPML_ASSIGN(auto ends, make_socket_pair());
    const pid_t parent = ::getpid();
    const pid_t process = ::fork();
    if (process < 0) {
      return fail(
          platform_error(PlatformFault::kLimit, "no process for a session: " + errno_text(errno)));
    }
    if (process == 0) serve_in_process(ends.second.release(), parent);
    ends.second.reset();
    const auto session = make_file_stream(std::move(ends.first), {}, "the session");
    const Status carried = Carrier(*stream_, *session).run(first_, stop_);
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
    return carried;
  }

  bool was_registered() const { return registered_; }

 private:
  [[noreturn]] void serve_in_process(int fd, pid_t parent) noexcept {
    leave_server(parent, "tapml session");
    // Of the parent's files it keeps the standard ones and its own.
    if (fd > 3) ::close_range(3, static_cast<unsigned>(fd) - 1, 0);
    ::close_range(static_cast<unsigned>(fd) + 1, ~0U, 0);
    const std::atomic<bool> never = false;
    const Status served = serve_descriptors(fd, fd, options_, never);
    if (!served) log(served.error().message);
    ::_exit(0);
  }

  void log(const std::string& line) const {
    if (options_.server.log) options_.server.log(line);
  }

  const TrackedDevice& device_;
  const ListenOptions& options_;
  const std::atomic<bool>& stop_;
  const Interrupted stopped_;
  std::unique_ptr<ByteStream> stream_;
  std::vector<std::byte> first_;
  bool registered_ = false;
};

}  // namespace

Status serve_tracked(const TrackedDevice& device, const ListenOptions& options,
                     const std::atomic<bool>& stop) noexcept {
  ::signal(SIGPIPE, SIG_IGN);
  std::chrono::milliseconds pause = kFirstPause;
  int round = 0;
  while (!stop) {
    Registration registration(device, options, stop);
    Status waited = registration.wait_for_client();
    if (waited) waited = registration.serve();
    if (registration.was_registered()) pause = kFirstPause;
    if (waited || stop) continue;
    if (waited.error().kind == ErrorKind::kUser) return waited;
    // Many devices that lost the same tracker do not return at the same moment.
    const auto spread = pause * (50 + (::getpid() + round++) * 37 % 100) / 100;
    if (options.server.log) {
      options.server.log("no tracker: " + waited.error().message + "; again in " +
                         std::to_string(spread.count()) + " ms");
    }
    for (auto left = spread; left > left.zero() && !stop; left -= kTick) {
      std::this_thread::sleep_for(std::min(left, kTick));
    }
    pause = std::min(2 * pause, kLongestPause);
  }
  return {};
}

}  // namespace tapml::rpc
