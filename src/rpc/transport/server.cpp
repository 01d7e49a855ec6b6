#include "rpc/transport/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <vector>

#include "base/printable.h"
#include "rpc/transport/confinement.h"
#include "rpc/transport/listener.h"
#include "rpc/transport/process_limits.h"
#include "rpc/transport/stream_channel.h"
#include "rpc/transport/tls_relay.h"
#include "rpc/transport/unfinished_handshakes.h"
#include "rpc/transport/worker.h"

namespace tapml::rpc {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kServerTick{
    50};  // between two checks of `stop` and the requests
constexpr std::chrono::milliseconds kLingering{1000};
constexpr std::chrono::milliseconds kFarewell{100};  // for a client that does not read
constexpr size_t kMostLingering = 64;
// Limit on relays of connections without a session: unfinished ones, and those that still report
// why they end.
constexpr size_t kMostIdleRelays = 192;
// How long a process may take to release its session's resources. A driver's queue finishes its
// work first, and work may never end.
constexpr std::chrono::milliseconds kMostTeardown{2000};

// A connection whose session is over. Incoming data is read and dropped, so that the client can
// read the reason before it sees a reset.
struct Lingering {
  Connection connection;
  Clock::time_point until;
};

class ProcessServer final : public Server {
 public:
  ProcessServer(std::unique_ptr<Listener> listener, Endpoint endpoint, const ListenOptions& options,
                std::unique_ptr<TlsContext> tls = nullptr)
      : listener_(std::move(listener)),
        endpoint_(std::move(endpoint)),
        options_(options),
        unfinished_(options.unfinished, options.unfinished_of_peer) {
    // For this process and those that it forks: the lines contain names from clients.
    if (options.server.log) {
      options_.server.log = [write = options.server.log](const std::string& line) {
        write(printable_line(line));
      };
    }
    // A session's process would report this to its client, but the server decides.
    options_.server.admit = [this]() -> Status { return fail(too_many_sessions()); };
    close_memory();
    if (tls) relays_.emplace(std::move(tls), options.server.limits.handshake, options_.server.log);
  }

  const Endpoint& endpoint() const noexcept override { return endpoint_; }
  Status run(const std::atomic<bool>& stop) noexcept override;
  // Serves one existing connection.
  Status adopt(Connection connection) noexcept;

 private:
  void accept_all() noexcept;
  Error too_many_sessions() const;
  void make_room(const std::string& peer) noexcept;
  FileDescriptor decrypt(FileDescriptor client) noexcept;
  void close_all() noexcept;
  void wait_for_news() noexcept;
  void check_workers() noexcept;
  void admit(Worker& worker) noexcept;
  bool is_full() const { return std::ssize(admitted_) >= options_.sessions; }
  void drain() noexcept;
  // `lines`: the last ones of its log.
  void part(Connection connection, const Error* farewell,
            const std::vector<std::string>& lines = {}) noexcept;
  void end_all() noexcept;
  void log(const std::string& line) const {
    if (options_.server.log) options_.server.log(line);
  }

  std::set<int64_t> admitted_;  // numbers of sessions whose client sent a valid hello
  std::unique_ptr<Listener> listener_;
  Endpoint endpoint_;
  ListenOptions options_;
  EndedFirst ended_first_;  // applies to the sessions' processes
  std::optional<TlsRelays> relays_;
  UnfinishedHandshakes unfinished_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Lingering> lingering_;
  std::vector<pollfd> polled_;  // the listener, then workers, then lingering connections
  Clock::time_point accept_again_{};
  int64_t next_number_ = 1;
};

Status ProcessServer::run(const std::atomic<bool>& stop) noexcept {
  ::signal(SIGPIPE, SIG_IGN);
  const pid_t parent = ::getppid();
  const auto orphaned = [&] { return options_.ends_with_parent && ::getppid() != parent; };
  while (!stop.load() && !orphaned()) {
    if (!listener_ && workers_.empty() && lingering_.empty()) return {};
    wait_for_news();
    check_workers();
    drain();
    if (relays_) relays_->reap();
    if (listener_) accept_all();
  }
  end_all();
  return {};
}

void ProcessServer::wait_for_news() noexcept {
  polled_.clear();
  const bool accepting = listener_ && Clock::now() >= accept_again_;
  polled_.push_back({accepting ? listener_->get() : -1, POLLIN, 0});
  for (const auto& worker : workers_) polled_.push_back({worker->control(), POLLIN, 0});
  for (const Lingering& one : lingering_) {
    polled_.push_back({one.connection.in.get(), POLLIN, 0});
  }
  // A signal interrupts this, so that setting `stop` takes effect at once.
  if (::poll(polled_.data(), polled_.size(), static_cast<int>(kServerTick.count())) < 0) {
    for (pollfd& one : polled_) one.revents = 0;
  }
}

void ProcessServer::check_workers() noexcept {
  const auto now = Clock::now();
  std::vector<std::unique_ptr<Worker>> left;
  for (size_t i = 0; i < workers_.size(); ++i) {
    std::unique_ptr<Worker>& worker = workers_[i];
    const runtime::Deadline began = worker->request_began();
    if (began && now - *began > options_.call) {
      worker->kill(platform_error(PlatformFault::kTimeout,
                                  "a request took longer than " +
                                      std::to_string(options_.call.count()) +
                                      " ms; the session's process was ended",
                                  "the server", "--call-seconds of the server is the limit"));
    }
    const runtime::Deadline over = worker->session_ended();
    if (over && now - *over > kMostTeardown) {
      worker->kill(platform_error(PlatformFault::kTimeout,
                                  "work of the ended session did not finish within " +
                                      std::to_string(kMostTeardown.count()) +
                                      " ms; its process was ended",
                                  "the server"));
    }
    if (polled_[1 + i].revents != 0 && worker->asks()) admit(*worker);
    if (!worker->ended()) {
      left.push_back(std::move(worker));
      continue;
    }
    admitted_.erase(worker->number());
    unfinished_.remove(worker->number());
    log(worker->end_text());
    part(std::move(worker->connection()), worker->farewell(), worker->last_lines());
  }
  workers_ = std::move(left);
}

// Sessions that ask at the same time are admitted or refused one by one.
void ProcessServer::admit(Worker& worker) noexcept {
  const bool admitted = admitted_.contains(worker.number()) || !is_full();
  if (admitted) admitted_.insert(worker.number());
  worker.answer(admitted);
}

void ProcessServer::part(Connection connection, const Error* farewell,
                         const std::vector<std::string>& lines) noexcept {
  if (farewell != nullptr) {
    send_last_frame(connection.output(), encode_failure(*farewell, lines),
                    Clock::now() + kFarewell);
  }
  ::shutdown(connection.output(), SHUT_WR);
  connection.out.reset();
  if (lingering_.size() == kMostLingering) lingering_.erase(lingering_.begin());
  lingering_.push_back({std::move(connection), Clock::now() + kLingering});
}

void ProcessServer::drain() noexcept {
  const auto now = Clock::now();
  std::byte dropped[16 << 10];
  std::erase_if(lingering_, [&](const Lingering& one) {
    if (now >= one.until) return true;
    const ssize_t count = ::recv(one.connection.in.get(), dropped, sizeof dropped, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
  });
}

void ProcessServer::accept_all() noexcept {
  if (Clock::now() < accept_again_) return;
  while (true) {
    Connection connection;
    connection.in = listener_->accept();
    if (!connection.in.valid()) {
      // Out of descriptors: pending connections stay in the queue for a moment.
      if (errno == EMFILE || errno == ENFILE) accept_again_ = Clock::now() + 10 * kServerTick;
      return;
    }
    const std::string peer = peer_key(connection.in.get());
    if (relays_) connection.in = decrypt(std::move(connection.in));
    if (!connection.in.valid()) continue;
    if (is_full()) {
      const Error full = too_many_sessions();
      log("a connection is refused: " + full.message);
      part(std::move(connection), &full);
      continue;
    }
    make_room(peer);
    if (auto adopted = adopt(std::move(connection)); !adopted) {
      log(adopted.error().message);
      continue;
    }
    unfinished_.add(workers_.back()->number(), peer);
  }
}

Error ProcessServer::too_many_sessions() const {
  return platform_error(
      PlatformFault::kLimit,
      "the server has reached its limit of " + std::to_string(options_.sessions) + " sessions",
      endpoint_.text(), "try again later, or raise its --sessions");
}

// Makes room for one more connection of `peer` that has not sent a hello yet.
void ProcessServer::make_room(const std::string& peer) noexcept {
  unfinished_.remove_if([&](int64_t number) { return admitted_.contains(number); });
  const std::optional<int64_t> number = unfinished_.gives_way(peer);
  if (!number) return;
  unfinished_.remove(*number);
  const auto worker =
      std::ranges::find_if(workers_, [&](const auto& one) { return one->number() == *number; });
  if (worker == workers_.end()) return;
  (*worker)->kill(platform_error(PlatformFault::kLimit,
                                 "too many connections sent no hello, and this was the oldest",
                                 endpoint_.text(), "connect again, and send hello at once"));
}

// The plain side of an encrypted connection; not valid if no process can be started for it.
FileDescriptor ProcessServer::decrypt(FileDescriptor client) noexcept {
  // A client that is slow to begin must not block others: the oldest without a session goes.
  relays_->make_room(kMostIdleRelays,
                     [this](int64_t number) { return admitted_.contains(number); });
  auto plain = relays_->start(std::move(client), next_number_, [this] { close_all(); });
  if (plain) return std::move(*plain);
  log("a connection is refused: " + plain.error().message);
  return {};
}

// In a forked process: closes what belongs to the server and to other sessions.
void ProcessServer::close_all() noexcept {
  if (listener_) listener_->forget();
  for (const auto& other : workers_) other->forget();
  lingering_.clear();
}

Status ProcessServer::adopt(Connection connection) noexcept {
  Connection kept;  // to report the reason if no process can be started
  kept.in = FileDescriptor(::fcntl(connection.in.get(), F_DUPFD_CLOEXEC, 3));
  ended_first_.begin();
  auto worker = Worker::start(std::move(connection), next_number_, options_, [this, &kept] {
    kept = {};
    close_all();
    if (relays_) relays_->forget();
  });
  ended_first_.end();
  if (!worker) {
    part(std::move(kept), &worker.error());
    return fail(std::move(worker.error()));
  }
  log("session " + std::to_string(next_number_) + ": connected");
  ++next_number_;
  workers_.push_back(std::move(*worker));
  return {};
}

void ProcessServer::end_all() noexcept {
  const Error ending =
      platform_error(PlatformFault::kLost, "the server was ended", endpoint_.text());
  for (const auto& worker : workers_) worker->kill(ending);
  for (const auto& worker : workers_) {
    worker->ended(true);
    admitted_.erase(worker->number());
    log(worker->end_text());
    part(std::move(worker->connection()), worker->farewell());
  }
  workers_.clear();
  if (!relays_) return;
  lingering_.clear();  // each relay sees the end of its connection
  relays_->end_all(kLingering + kServerTick);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const Endpoint& endpoint,
                                               const ListenOptions& options) noexcept {
  std::unique_ptr<TlsContext> tls;
  if (endpoint.tls) {
    TAPML_ASSIGN(tls, TlsContext::for_server(options.tls_certificate, options.tls_key));
  }
  const bool anywhere = (endpoint.tls || options.insecure) && !options.server.token.empty();
  TAPML_ASSIGN(auto listener, Listener::open(endpoint, anywhere));
  const Endpoint chosen = listener->endpoint();
  return std::make_unique<ProcessServer>(std::move(listener), chosen, options, std::move(tls));
}

Status serve_descriptors(int in, int out, const ListenOptions& options,
                         const std::atomic<bool>& stop) noexcept {
  Endpoint endpoint;
  endpoint.kind = Endpoint::Kind::kPipe;
  endpoint.command = "(standard input and output)";
  ProcessServer server(nullptr, endpoint, options);
  Connection connection;
  connection.in = FileDescriptor(in);
  if (out != in) connection.out = FileDescriptor(out);
  TAPML_TRY(server.adopt(std::move(connection)));
  return server.run(stop);
}

}  // namespace tapml::rpc
