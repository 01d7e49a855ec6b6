#include "rpc/transport/tls_relay.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <tuple>

#include "rpc/session/server_session.h"
#include "rpc/transport/confinement.h"
#include "rpc/transport/stream_channel.h"
#include "rpc/transport/worker.h"

namespace tapml::rpc {

namespace {

using Clock = std::chrono::steady_clock;
using Step = TlsConnection::Step;

// For a client that neither reads nor writes any more once its session is over.
constexpr std::chrono::seconds kParting{1};
// The first byte that a TLS client sends; a frame never begins with it.
constexpr unsigned char kHandshakeRecord = 0x16;

// Bytes in transit in one direction.
struct Flow {
  std::array<std::byte, 64 << 10> bytes;
  size_t begin = 0, end = 0;
  bool over = false;  // no more input
  bool empty() const { return begin == end; }
  std::span<std::byte> room() { return std::span(bytes); }
  std::span<const std::byte> rest() const { return std::span(bytes).subspan(begin, end - begin); }
};

class Relay {
 public:
  Relay(FileDescriptor client, FileDescriptor plain)
      : client_(std::move(client)), plain_(std::move(plain)) {}

  // Runs until the connection ends; an error if it does not even begin.
  Status run(const TlsContext& context, Clock::time_point handshake_until) noexcept {
    TAPML_TRY(expect_tls(handshake_until));
    TAPML_ASSIGN(tls_, TlsConnection::accept(context, client_.get(), "the client"));
    if (Status hands = shake_hands(handshake_until); !hands) {
      part(Clock::now() + kParting);  // an alert with the reason is on its way
      return hands;
    }
    while (!down_.over || !down_.empty()) {
      const bool up = move_up(), down = move_down();
      if (broken_) return {};
      if (!up && !down && !wait_for_either()) return {};
    }
    tls_->end();
    part(Clock::now() + kParting);
    return {};
  }

 private:
  static Error late() {
    return platform_error(PlatformFault::kTimeout, "the TLS handshake did not end in time",
                          "the client");
  }

  // False if the client is not ready in time. If the session is over already, the client still has
  // time to read the reason.
  bool wait_for_client(bool writing, Clock::time_point& until) noexcept {
    int session = plain_.get();
    while (true) {
      const Ready ready = wait_ready(client_.get(), writing, session, until);
      if (ready != Ready::kWoken) return ready == Ready::kYes;
      session = -1;
      until = std::min(until, Clock::now() + kParting);
    }
  }

  // Waits for the client's first byte. Reports to a client without TLS in plain frames.
  Status expect_tls(Clock::time_point& until) noexcept {
    if (!wait_for_client(false, until)) return fail(late());
    unsigned char first = 0;
    if (::recv(client_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1) {
      return fail(platform_error(PlatformFault::kLost, "the connection was closed before TLS began",
                                 "the client"));
    }
    if (first == kHandshakeRecord) return {};
    Error error =
        platform_error(PlatformFault::kProtocol, "this server takes encrypted connections only",
                       "the server", "its endpoint is tls:host:port");
    send_last_frame(client_.get(), encode_failure(error), until);
    part(Clock::now() + kParting);
    return fail(
        platform_error(PlatformFault::kProtocol, "the client does not use TLS", "the client"));
  }

  Status shake_hands(Clock::time_point& until) noexcept {
    while (true) {
      const Step step = tls_->handshake();
      if (step == Step::kDone) return {};
      if (step != Step::kWantRead && step != Step::kWantWrite) return fail(tls_->error());
      // A client that sends endlessly is not in time either.
      if (Clock::now() >= until) return fail(late());
      if (!wait_for_client(step == Step::kWantWrite, until)) return fail(late());
    }
  }

  // Moves data from the client to the session. True if there was progress.
  bool move_up() noexcept {
    bool moved = false;
    if (up_.empty() && !up_.over) {
      up_.begin = up_.end = 0;
      size_t count = 0;
      client_wants_ = tls_->read(up_.room(), count);
      if (client_wants_ == Step::kDone) {
        up_.end = count;
        moved = true;
      } else if (client_wants_ != Step::kWantRead && client_wants_ != Step::kWantWrite) {
        up_.over = moved = true;
        ::shutdown(plain_.get(), SHUT_WR);
      }
    }
    if (!up_.empty()) {
      const ssize_t count =
          ::send(plain_.get(), up_.rest().data(), up_.rest().size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count > 0) {
        up_.begin += static_cast<size_t>(count);
        moved = true;
      } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
        up_.begin = up_.end = 0;  // the session no longer reads
        up_.over = moved = true;
      }
    }
    return moved;
  }

  // Moves data from the session, or from the server on its behalf, to the client.
  bool move_down() noexcept {
    bool moved = false;
    if (down_.empty() && !down_.over) {
      down_.begin = down_.end = 0;
      const ssize_t count =
          ::recv(plain_.get(), down_.room().data(), down_.room().size(), MSG_DONTWAIT);
      if (count > 0) {
        down_.end = static_cast<size_t>(count);
        moved = true;
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        down_.over = moved = true;
        flush_until_ = Clock::now() + kParting;
      }
    }
    if (!down_.empty()) {
      size_t count = 0;
      writing_ = tls_->write(down_.rest(), count);
      if (writing_ == Step::kDone) {
        down_.begin += count;
        moved = true;
      } else if (writing_ != Step::kWantRead && writing_ != Step::kWantWrite) {
        broken_ = true;
      }
    }
    return moved;
  }

  // False if the session is over and the client does not read the last frames.
  bool wait_for_either() noexcept {
    short client = 0, plain = 0;
    if (!up_.over) {
      if (!up_.empty()) {
        plain |= POLLOUT;
      } else {
        client |= client_wants_ == Step::kWantWrite ? POLLOUT : POLLIN;
      }
    }
    if (!down_.empty()) {
      client |= writing_ == Step::kWantRead ? POLLIN : POLLOUT;
    } else if (!down_.over) {
      plain |= POLLIN;
    }
    // A side that is not waited for would wake poll() at once if it is gone.
    pollfd files[2] = {{client != 0 ? client_.get() : -1, client, 0},
                       {plain != 0 ? plain_.get() : -1, plain, 0}};
    const int most = down_.over ? 50 : -1;
    ::poll(files, 2, most);
    return !down_.over || Clock::now() < flush_until_;
  }

  // Drops incoming data, so that the client reads the last frames before it sees the end.
  void part(Clock::time_point until) noexcept {
    ::shutdown(client_.get(), SHUT_WR);
    plain_.reset();
    std::byte dropped[4096];
    while (wait_ready(client_.get(), false, -1, until) == Ready::kYes) {
      if (::recv(client_.get(), dropped, sizeof dropped, MSG_DONTWAIT) <= 0) return;
      if (Clock::now() >= until) return;
    }
  }

  FileDescriptor client_, plain_;
  std::unique_ptr<TlsConnection> tls_;
  Flow up_, down_;
  Step client_wants_ = Step::kWantRead, writing_ = Step::kDone;
  Clock::time_point flush_until_{};
  bool broken_ = false;
};

}  // namespace

Result<pid_t> TlsRelays::fork_process(int64_t session) noexcept {
  const pid_t process = ::fork();
  if (process < 0) {
    return fail(platform_error(PlatformFault::kLimit, "no process for TLS: " + errno_text(errno)));
  }
  if (process > 0) relays_.push_back({process, session});
  return process;
}

void TlsRelays::make_room(size_t most,
                          const std::function<bool(int64_t session)>& running) noexcept {
  const auto idle = [&](const Process& one) { return !running(one.session); };
  if (static_cast<size_t>(std::ranges::count_if(relays_, idle)) < most) return;
  const auto oldest = std::ranges::find_if(relays_, idle);
  if (oldest == relays_.end()) return;
  end(oldest->process);
  relays_.erase(oldest);
}

void TlsRelays::serve(FileDescriptor client, FileDescriptor plain, pid_t server) noexcept {
  leave_server(server, "tapml tls");
  std::ignore = confine_process();  // if this fails, the session's process reports it
  const auto relay = std::make_unique<Relay>(std::move(client), std::move(plain));
  const Status status = relay->run(*context_, Clock::now() + handshake_);
  if (!status && log_) log_("a connection ended: " + status.error().message);
  ::_exit(0);
}

void TlsRelays::reap() noexcept {
  std::erase_if(relays_, [](const Process& one) {
    const pid_t done = ::waitpid(one.process, nullptr, WNOHANG);
    return done == one.process || (done < 0 && errno != EINTR);
  });
}

void TlsRelays::end(pid_t process) noexcept {
  ::kill(process, SIGKILL);
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void TlsRelays::end_all(std::chrono::milliseconds patience) noexcept {
  const auto until = Clock::now() + patience;
  for (reap(); !relays_.empty() && Clock::now() < until; reap()) ::poll(nullptr, 0, 5);
  for (const Process& one : relays_) end(one.process);
  relays_.clear();
}

}  // namespace tapml::rpc
