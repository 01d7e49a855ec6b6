#include "tracker/tracker.h"

#include <fcntl.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <optional>
#include <thread>
#include <unordered_map>

#include "base/host/peer_address.h"
#include "base/printable.h"
#include "net/tls_terminator.h"
#include "rpc/transport/listener.h"
#include "rpc/transport/unfinished_handshakes.h"
#include "tracker/lease_table.h"
#include "tracker/link.h"
#include "tracker/message.h"
#include "tracker/request.h"

namespace tapml::tracker {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;
using Stream = beast::tcp_stream;
using Clock = std::chrono::steady_clock;
using Id = LeaseTable::Id;
template <class T>
using Task = asio::awaitable<T>;

constexpr size_t kIdleBytes = 512, kLeasedBytes = 64 << 10;  // buffers of a connection
constexpr std::chrono::seconds kRefusal{5};                  // for a client to take an answer
// How long a connection whose other end is gone may still deliver what is on its way.
constexpr std::chrono::seconds kLinger{2};
// A waiting client is told its place at least this often, so that it sees that the tracker lives.
constexpr std::chrono::seconds kSignOfLife{5};
constexpr std::chrono::seconds kWebSocketIdle{60};  // a ping after half of it
constexpr int kRefusalCodes = 4000;  // with which a WebSocket closes, plus the status
constexpr size_t kMostReasonBytes = 120;

constexpr const char* kSwitch =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tapml\r\n\r\n";

std::string answer_text(int status, const char* type, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " " +
         std::string(http::obsolete_reason(static_cast<http::status>(status))) +
         "\r\nConnection: close\r\nServer: tapml\r\nCache-Control: no-store\r\n"
         "X-Content-Type-Options: nosniff\r\nContent-Type: " +
         type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// A client or a device.
struct Party {
  Party(Id number, std::string its_key, std::string its_peer, std::unique_ptr<Link> its_link,
        asio::io_context& io)
      : id(number),
        key(std::move(its_key)),
        peer(std::move(its_peer)),
        link(std::move(its_link)),
        changed(io) {}
  const Id id;
  const std::string key, peer;
  const std::unique_ptr<Link> link;
  std::shared_ptr<Party> other;  // of the lease
  bool is_open = false;          // its handshake is complete: it takes the other's bytes
  bool has_left = false;
  // Cancelled when a waiting client's place changes, and when the party leaves.
  asio::steady_timer changed;
};

}  // namespace

class Tracker::State {
 public:
  State(const TrackerOptions& options, std::unique_ptr<rpc::Listener> listener,
        std::unique_ptr<net::TlsTerminator> tls)
      : options_(options),
        rules_{options.token, options.origins, listener ? listener->endpoint() : options.endpoint},
        unfinished_(options.unfinished, options.unfinished_of_peer),
        listener_(std::move(listener)),
        tls_(std::move(tls)),
        acceptor_(io_) {}
  ~State() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
    parties_.clear();
  }

  const rpc::Endpoint& endpoint() const noexcept { return rules_.endpoint; }

  Status start() {
    if (listener_) TAPML_TRY(start_accepting());
    thread_ = std::thread([this] { io_.run(); });
    return {};
  }

  void adopt(rpc::FileDescriptor socket, std::string first_bytes, std::string peer) {
    asio::post(io_, [this, fd = std::make_shared<rpc::FileDescriptor>(std::move(socket)),
                     first = std::move(first_bytes), shown = std::move(peer)] {
      tcp::socket connection(io_);
      error_code error;
      connection.assign(tcp::v4(), fd->get(), error);
      if (error || first.size() > kHeaderBytes) return;
      fd->release();
      asio::co_spawn(io_, greet(Stream(std::move(connection)), ++connections_, shown, first),
                     asio::detached);
    });
  }

 private:
  Status start_accepting() {
    sockaddr_storage own = {};
    socklen_t size = sizeof own;
    ::getsockname(listener_->get(), reinterpret_cast<sockaddr*>(&own), &size);
    error_code error;
    acceptor_.assign(own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(),
                     ::fcntl(listener_->get(), F_DUPFD_CLOEXEC, 3), error);
    if (error) {
      return fail(platform_error(PlatformFault::kLimit, "cannot serve: " + error.message(),
                                 endpoint().text()));
    }
    asio::co_spawn(io_, accept(), asio::detached);
    return {};
  }

  void log(const std::string& line) const {
    if (options_.log) options_.log(printable_line(line));
  }

  Task<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(kWait);
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // no more descriptors, for example
        asio::steady_timer pause(io_, std::chrono::milliseconds(100));
        co_await pause.async_wait(kWait);
        continue;
      }
      rpc::tune_connection(socket.native_handle());
      const std::string peer = rpc::peer_key(socket.native_handle());
      if (const auto oldest = unfinished_.gives_way(peer)) {
        unfinished_.remove(*oldest);
        if (const auto found = greeting_.find(*oldest); found != greeting_.end()) {
          ::shutdown(found->second, SHUT_RDWR);  // its coroutine ends
        }
        log("a connection is dropped: too many sent no request, and this was the oldest");
      }
      const std::string shown = peer_address(socket.native_handle());
      if (tls_) {
        const int plain = tls_->terminate(socket.release(error));
        if (plain < 0) continue;
        socket = tcp::socket(io_);
        socket.assign(tcp::v4(), plain, error);
      }
      const Id number = ++connections_;
      unfinished_.add(number, peer);
      greeting_[number] = socket.native_handle();
      asio::co_spawn(io_, greet(Stream(std::move(socket)), number, shown, ""), asio::detached);
    }
  }

  void greeted(Id number) {
    unfinished_.remove(number);
    greeting_.erase(number);
  }

  // Reads a request, which begins with `first_bytes`, and answers it.
  Task<void> greet(Stream stream, Id number, std::string peer, std::string first_bytes) {
    beast::flat_buffer buffer(kHeaderBytes);
    buffer.commit(asio::buffer_copy(buffer.prepare(first_bytes.size()), asio::buffer(first_bytes)));
    http::request_parser<http::empty_body> parser;
    parser.header_limit(kHeaderBytes);
    stream.expires_after(options_.handshake);
    const auto [error, bytes] = co_await http::async_read_header(stream, buffer, parser, kWait);
    greeted(number);
    if (error) {
      if (error.category() == http::make_error_code(http::error::bad_method).category() &&
          error != http::error::end_of_stream && error != http::error::partial_message) {
        co_await refuse(stream, 400, "the request is not HTTP/1.1");
      }
      co_return;
    }
    const Message message = parser.release();
    const Request request = request_of(message);
    const auto asked = understand(request, rules_);
    if (!asked) {
      log("a request from " + peer + " is refused: " + asked.error().message);
      // To pages of other origins a refused connection looks like one without an answer.
      if (request.is_websocket && asked.error().status != 403) {
        co_await refuse_websocket(std::move(stream), message, asked.error());
      } else {
        co_await refuse(stream, asked.error().status, asked.error().message);
      }
      co_return;
    }
    if (buffer.size() != 0) {
      co_await refuse(stream, 400, "bytes came before the answer to the request");
      co_return;
    }
    if (asked->kind == Asked::Kind::kStatus) {
      std::string text = answer_text(200, "application/json", table_.status().dump());
      co_await answer(stream, std::move(text));
      co_return;
    }
    const bool is_device = asked->kind == Asked::Kind::kDevice;
    if (is_device ? table_.devices() >= options_.devices
                  : table_.waiting_clients() >= options_.waiting) {
      const Refusal refusal{503, is_device ? "the tracker has as many devices as it takes"
                                           : "as many clients wait as the tracker takes"};
      if (request.is_websocket) {
        co_await refuse_websocket(std::move(stream), message, refusal);
      } else {
        co_await refuse(stream, refusal.status, refusal.message);
      }
      co_return;
    }
    if (!is_device) {
      auto party = make_party(PlainLink(std::move(stream)), number, *asked, peer);
      co_await serve_client(party, asked->priority, asked->wait);
    } else if (request.is_websocket) {
      co_await accept_websocket(std::move(stream), message, number, *asked, peer);
    } else {
      auto party = make_party(PlainLink(std::move(stream)), number, *asked, peer);
      if (co_await party->link->write(std::string_view(kSwitch))) serve_device(party);
    }
  }

  // A page learns nothing of an answer that refuses a WebSocket, but the reason of one that closes.
  Task<void> refuse_websocket(Stream stream, const Message& message, const Refusal& refusal) {
    stream.expires_never();
    WebSocketLink::Socket socket(std::move(stream));
    socket.set_option(websocket::stream_base::timeout{kRefusal, kRefusal, false});
    const auto [error] = co_await socket.async_accept(message, kWait);
    if (error) co_return;
    const websocket::close_reason reason(
        static_cast<websocket::close_code>(kRefusalCodes + refusal.status),
        refusal.message.substr(0, kMostReasonBytes));
    co_await socket.async_close(reason, kWait);
  }

  Task<void> accept_websocket(Stream stream, const Message& message, Id number, const Asked& asked,
                              const std::string& peer) {
    stream.expires_never();
    auto socket = std::make_unique<WebSocketLink::Socket>(std::move(stream));
    socket->set_option(websocket::stream_base::timeout{kRefusal, kWebSocketIdle, true});
    socket->read_message_max(options_.message_bytes);
    const auto [error] = co_await socket->async_accept(message, kWait);
    if (error) co_return;
    const auto device = make_party(WebSocketLink(std::move(socket)), number, asked, peer);
    serve_device(device);
    if (asked.signs.count() > 0) {
      asio::co_spawn(io_, give_signs(device, asked.signs), asio::detached);
    }
  }

  template <class Connection>
  std::shared_ptr<Party> make_party(Connection link, Id number, const Asked& asked,
                                    const std::string& peer) {
    return std::make_shared<Party>(number, asked.key, peer,
                                   std::make_unique<Connection>(std::move(link)), io_);
  }

  Task<void> answer(Stream& stream, std::string text) {
    stream.expires_after(kRefusal);
    co_await asio::async_write(stream, asio::buffer(text), kWait);
    ::shutdown(stream.socket().native_handle(), SHUT_WR);
    // A client that is still sending would lose the answer if the connection ended now.
    stream.expires_after(kLinger);
    char dropped[4096];
    for (int i = 0; i < 16; ++i) {
      const auto [error, count] = co_await stream.async_read_some(asio::buffer(dropped), kWait);
      if (error) break;
    }
  }

  // No coroutine: arguments of a co_await are trivial here, since GCC 12 destroys others twice.
  Task<void> refuse(Stream& stream, int status, std::string_view message) {
    return answer(stream, answer_text(status, "text/plain", std::string(message)));
  }

  void serve_device(const std::shared_ptr<Party>& device) {
    device->is_open = true;
    parties_[device->id] = device;
    table_.add_device(device->id, device->key, device->peer);
    log("device " + std::to_string(device->id) + " of " + device->peer + ": key " + device->key);
    asio::co_spawn(io_, pump(device), asio::detached);
    match(device->key);
  }

  // A page cannot see the pings of its WebSocket, and would wait for a tracker that is gone without
  // a word.
  Task<void> give_signs(std::shared_ptr<Party> device, std::chrono::seconds every) {
    while (!device->has_left) {
      // Not within the condition: GCC 12 loses the coroutine's arguments then.
      const bool is_there = co_await device->link->give_sign();
      if (!is_there) co_return;
      device->changed.expires_after(every);
      co_await device->changed.async_wait(kWait);  // ends early when the device leaves
    }
  }

  // Gives free devices to waiting clients, and has the others told of their new places.
  void match(const std::string& key) {
    while (const auto grant = table_.grant(key)) {
      const auto client = parties_.at(grant->client), device = parties_.at(grant->device);
      client->other = device;
      device->other = client;
      log("device " + std::to_string(device->id) + ": leased to " + client->peer);
      client->changed.cancel();
    }
    for (const Id id : table_.waiting(key)) parties_.at(id)->changed.cancel();
  }

  // Keeps a client informed until it has a device.
  Task<void> serve_client(std::shared_ptr<Party> client, int64_t priority,
                          std::chrono::seconds wait) {
    const auto until = Clock::now() + std::min(wait, options_.longest_wait);
    parties_[client->id] = client;
    table_.add_client(client->id, client->key, priority, client->peer);
    asio::co_spawn(io_, pump(client), asio::detached);
    match(client->key);
    LeaseTable::Place told;
    Clock::time_point told_at{};
    while (!client->has_left) {
      if (client->other) {
        const bool sent = co_await client->link->write(std::string_view(kSwitch));
        client->is_open = true;
        if (!sent) client->link->close();
        co_return;
      }
      const auto now = Clock::now();
      const auto place = table_.place(client->id);
      if (now >= until) {
        table_.remove(client->id);
        const std::string text =
            answer_text(504, "text/plain",
                        "no device with the key " + client->key + " became free in time: place " +
                            std::to_string(place.place) + " of those who wait, " +
                            std::to_string(place.devices) + " devices");
        co_await client->link->write(text);
        client->is_open = true;
        match(client->key);
        co_await part(client);
        co_return;
      }
      if (place.place != told.place || place.devices != told.devices ||
          now - told_at >= kSignOfLife) {
        told = place;
        told_at = now;
        // A named string: the coroutine keeps a temporary's view only.
        const std::string text =
            "HTTP/1.1 102 Processing\r\nTapml-Place: " + std::to_string(place.place) +
            "\r\nTapml-Devices: " + std::to_string(place.devices) + "\r\n\r\n";
        if (!co_await client->link->write(text)) client->link->close();
        continue;  // its place may have changed meanwhile
      }
      client->changed.expires_at(std::min(until, told_at + kSignOfLife));
      co_await client->changed.async_wait(kWait);
    }
  }

  // Carries what `self` sends to the other end of its lease, as fast as that takes it.
  Task<void> pump(std::shared_ptr<Party> self) {
    std::vector<char> buffer;
    for (;;) {
      buffer.resize(self->other ? kLeasedBytes : kIdleBytes);
      const int64_t count = co_await self->link->read_some(buffer);
      if (count < 0) break;
      if (count == 0) continue;
      const std::shared_ptr<Party> other = self->other;
      if (!other) break;              // it speaks before its turn
      if (other->has_left) continue;  // dropped, until this side has seen the end
      co_await opened(*other);
      if (!co_await other->link->write(Link::View(buffer.data(), static_cast<size_t>(count)))) {
        other->link->close();
      }
    }
    if (!std::exchange(self->has_left, true)) {
      log((self->other ? "the lease of connection " : "connection ") + std::to_string(self->id) +
          ": " + self->peer + " left");
    }
    parties_.erase(self->id);
    table_.remove(self->id);
    self->changed.cancel();
    self->link->close();
    match(self->key);
    if (const auto other = std::exchange(self->other, nullptr); other && !other->has_left) {
      co_await opened(*other);
      co_await part(other);
    }
  }

  // Waits until nothing else writes to it.
  Task<void> opened(const Party& party) {
    while (!party.is_open && !party.has_left) {
      asio::steady_timer moment(io_, std::chrono::milliseconds(1));
      co_await moment.async_wait(kWait);
    }
  }

  // Ends a connection whose other side is gone, after what is on its way has arrived.
  Task<void> part(std::shared_ptr<Party> party) {
    if (party->has_left) co_return;
    asio::steady_timer limit(io_, kLinger);
    limit.async_wait([party](const error_code& cancelled) {
      if (!cancelled) party->link->close();
    });
    co_await party->link->finish();
    while (!party->has_left) {
      asio::steady_timer moment(io_, std::chrono::milliseconds(5));
      co_await moment.async_wait(kWait);
    }
  }

  const TrackerOptions options_;
  const Rules rules_;
  rpc::UnfinishedHandshakes unfinished_;
  std::map<Id, int> greeting_;  // sockets of connections without a complete request
  std::unique_ptr<rpc::Listener> listener_;
  const std::unique_ptr<net::TlsTerminator> tls_;  // if connections are encrypted
  LeaseTable table_;
  Id connections_ = 0;
  asio::io_context io_;
  const asio::executor_work_guard<asio::io_context::executor_type> work_ =
      asio::make_work_guard(io_);  // connections may be given to it later
  tcp::acceptor acceptor_;
  std::unordered_map<Id, std::shared_ptr<Party>> parties_;
  std::thread thread_;
};

Tracker::Tracker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracker::~Tracker() = default;
const rpc::Endpoint& Tracker::endpoint() const noexcept { return state_->endpoint(); }
void Tracker::adopt(rpc::FileDescriptor socket, std::string first_bytes, std::string peer) {
  state_->adopt(std::move(socket), std::move(first_bytes), std::move(peer));
}

namespace {

Result<std::unique_ptr<net::TlsTerminator>> terminator(const TrackerOptions& options) {
  if (!options.endpoint.tls) return nullptr;
  return net::TlsTerminator::create(options.tls_certificate, options.tls_key);
}

}  // namespace

Result<std::unique_ptr<Tracker>> Tracker::listen(const TrackerOptions& options) {
  if (options.endpoint.kind != rpc::Endpoint::Kind::kTcp) {
    return fail(user_error("a tracker listens at TCP addresses", options.endpoint.text(),
                           "host:port or tls:host:port"));
  }
  for (const std::string& origin : options.origins) TAPML_TRY(check_origin(origin));
  TAPML_ASSIGN(auto tls, terminator(options));
  const bool anywhere = (options.endpoint.tls || options.insecure) && !options.token.empty();
  TAPML_ASSIGN(auto listener, rpc::Listener::open(options.endpoint, anywhere));
  auto state = std::make_unique<State>(options, std::move(listener), std::move(tls));
  TAPML_TRY(state->start());
  return std::unique_ptr<Tracker>(new Tracker(std::move(state)));
}

Result<std::unique_ptr<Tracker>> Tracker::open(const TrackerOptions& options) {
  for (const std::string& origin : options.origins) TAPML_TRY(check_origin(origin));
  auto state = std::make_unique<State>(options, nullptr, nullptr);
  TAPML_TRY(state->start());
  return std::unique_ptr<Tracker>(new Tracker(std::move(state)));
}

}  // namespace tapml::tracker
