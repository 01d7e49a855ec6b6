#include "server/http/http_server.h"

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "base/host/peer_address.h"
#include "net/tls_terminator.h"

namespace tapml::server {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kWait = asio::as_tuple(asio::use_awaitable);
constexpr size_t kHeaderBytes = 32 << 10;
constexpr int kThreads = 2;
constexpr int64_t kPieceBytes = 256 << 10;  // of a body that is read as it is sent

using Strand = asio::strand<asio::io_context::executor_type>;
using Stream = beast::tcp_stream;

// The answer as the connection takes it.
class Answer final : public Exchange, public std::enable_shared_from_this<Answer> {
 public:
  Answer(const Strand& strand, int64_t unsent_bytes)
      : strand_(strand), changed_(strand), unsent_bytes_(unsent_bytes) {
    changed_.expires_at(asio::steady_timer::time_point::max());
  }

  struct Head {
    int status = 200;
    std::string content_type;
    HttpHeaders headers;
    bool is_whole = true;
    std::optional<BodySource> source;  // the body, if it is whole and not in memory
  };

  void respond(int status, std::string content_type, std::string body,
               HttpHeaders headers) override {
    const std::lock_guard lock(mutex_);
    if (head_ || is_gone_) return;
    head_ = {status, std::move(content_type), std::move(headers), true, {}};
    pieces_.push_back(std::move(body));
    is_complete_ = true;
    wake();
  }
  void respond_from(int status, std::string content_type, BodySource body,
                    HttpHeaders headers) override {
    const std::lock_guard lock(mutex_);
    if (head_ || is_gone_) return;
    head_ = {status, std::move(content_type), std::move(headers), true, std::move(body)};
    is_complete_ = true;
    wake();
  }
  void begin(int status, std::string content_type, HttpHeaders headers) override {
    const std::lock_guard lock(mutex_);
    if (head_ || is_gone_) return;
    head_ = {status, std::move(content_type), std::move(headers), false, {}};
    wake();
  }
  void write(std::string piece) override {
    const std::lock_guard lock(mutex_);
    if (!head_ || is_complete_ || is_gone_ || piece.empty()) return;
    queued_ += std::ssize(piece);
    pieces_.push_back(std::move(piece));
    if (queued_ > unsent_bytes_) is_over_limit_ = true;
    wake();
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    if (!head_ || is_gone_) return;
    is_complete_ = true;
    wake();
  }
  void on_gone(std::function<void()> gone) override {
    {
      const std::lock_guard lock(mutex_);
      if (is_complete_) return;
      if (!is_gone_) {
        gone_ = std::move(gone);
        return;
      }
    }
    gone();
  }

  // For the connection, on its strand.

  // Ready to be sent: nothing yet, or the head and pieces so far.
  struct Ready {
    std::optional<Head> head;
    std::deque<std::string> pieces;
    bool is_last = false;
    bool is_over_limit = false;
  };
  Ready take() {
    const std::lock_guard lock(mutex_);
    Ready ready;
    if (!head_taken_ && head_) {
      ready.head = head_;
      head_taken_ = true;
    }
    if (head_taken_) {
      ready.pieces = std::exchange(pieces_, {});
      queued_ = 0;
      ready.is_last = is_complete_;
    }
    ready.is_over_limit = is_over_limit_;
    return ready;
  }
  asio::steady_timer& changed() { return changed_; }
  // The connection has ended.
  void leave() {
    std::function<void()> gone;
    {
      const std::lock_guard lock(mutex_);
      is_gone_ = true;
      if (!is_complete_) gone = std::exchange(gone_, {});
      pieces_.clear();
    }
    if (gone) gone();
  }

 private:
  // The timer belongs to the strand.
  void wake() {
    asio::post(strand_, [self = shared_from_this()] { self->changed_.cancel(); });
  }

  Strand strand_;
  asio::steady_timer changed_;
  const int64_t unsent_bytes_;
  std::mutex mutex_;
  std::optional<Head> head_;
  std::deque<std::string> pieces_;
  int64_t queued_ = 0;
  bool head_taken_ = false, is_complete_ = false, is_gone_ = false, is_over_limit_ = false;
  std::function<void()> gone_;
};

// What a request that cannot be read is answered with; 0: nothing.
int refusal_status(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message) {
    return 400;
  }
  return 0;
}

HttpRequest request_of(http::request<http::string_body>&& message) {
  const auto header = [&](http::field name) { return std::string(message[name]); };
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.host = header(http::field::host);
  request.origin = header(http::field::origin);
  request.authorization = header(http::field::authorization);
  request.upgrade = header(http::field::upgrade);
  request.range = header(http::field::range);
  request.if_range = header(http::field::if_range);
  request.if_none_match = header(http::field::if_none_match);
  request.body = std::move(message.body());
  return request;
}

std::string text_of(const http::request<http::string_body>& message) {
  std::ostringstream text;
  text << message;
  return text.str();
}

}  // namespace

struct HttpServer::State {
  State(HttpOptions asked, HttpHandler answers)
      : options(std::move(asked)), handler(std::move(answers)), acceptor(io) {}

  Status open() {
    if (!options.tls_certificate.empty()) {
      TAPML_ASSIGN(tls, net::TlsTerminator::create(options.tls_certificate, options.tls_key));
    }
    error_code error;
    tcp::resolver resolver(io);
    const auto found = resolver.resolve(options.host, std::to_string(options.port), error);
    if (error || found.empty()) {
      return fail(platform_error(PlatformFault::kAbsent, "the address to listen at is not known",
                                 options.host, error.message()));
    }
    const tcp::endpoint endpoint = found.begin()->endpoint();
    if (!endpoint.address().is_loopback() && !options.anywhere) {
      return fail(user_error("the address can be reached from other machines", options.host,
                             "a loopback address", endpoint.address().to_string(),
                             "listen on 127.0.0.1, or give keys, and a certificate or --no-tls"));
    }
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return fail(platform_error(PlatformFault::kAbsent, "cannot listen at the address",
                                 options.host + ":" + std::to_string(options.port),
                                 error.message()));
    }
    address = acceptor.local_endpoint().address().to_string();
    port = acceptor.local_endpoint().port();
    return {};
  }

  void start() {
    asio::co_spawn(io, accept(), asio::detached);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this] { io.run(); });
    }
  }

  asio::awaitable<void> accept() {
    for (;;) {
      Strand strand = asio::make_strand(io.get_executor());
      auto [error, accepted] = co_await acceptor.async_accept(strand, kWait);
      if (error == asio::error::operation_aborted || !acceptor.is_open()) co_return;
      if (error) {  // no more descriptors, for example
        asio::steady_timer pause(io, std::chrono::milliseconds(100));
        co_await pause.async_wait(kWait);
        continue;
      }
      if (connections >= options.connections) continue;  // closes it
      ++connections;
      tcp::socket socket(std::move(accepted));
      // A piece of an answer is small, and the next one comes after it.
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      std::string peer = peer_address(socket.native_handle());
      if (tls) {
        const int plain = tls->terminate(socket.release(ignored));
        socket = tcp::socket(strand);
        if (plain >= 0) socket.assign(tcp::v4(), plain, ignored);
      }
      asio::co_spawn(strand, serve(Stream(std::move(socket)), strand, std::move(peer)),
                     [this](const std::exception_ptr&) { --connections; });
    }
  }

  // Answers the requests of a connection, one after another.
  // Coroutine: parameters by value.
  asio::awaitable<void> serve(Stream stream, Strand strand, std::string peer) {
    beast::flat_buffer buffer;
    tcp::socket& socket = stream.socket();
    {
      const std::lock_guard lock(mutex);
      idle.insert(&socket);
    }
    for (bool keeps = true; keeps && !closing;) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(static_cast<uint64_t>(options.body_bytes));
      parser.header_limit(kHeaderBytes);
      stream.expires_after(options.idle);
      const auto [error, bytes] = co_await http::async_read(stream, buffer, parser, kWait);
      {
        const std::lock_guard lock(mutex);
        idle.erase(&socket);
      }
      if (error) {
        if (const int status = refusal_status(error)) co_await refuse(stream, status);
        break;
      }
      auto message = parser.release();
      std::string first_bytes;  // the request, for another server
      if (options.upgrades) first_bytes = text_of(message);
      const unsigned version = message.version();
      const bool head_only = message.method() == http::verb::head;
      keeps = message.keep_alive();
      HttpRequest request = request_of(std::move(message));
      if (options.upgrades && options.upgrades(request)) {
        first_bytes += beast::buffers_to_string(buffer.data());
        hand_over(socket, std::move(first_bytes), std::move(peer));
        co_return;
      }
      auto answer = std::make_shared<Answer>(strand, options.unsent_bytes);
      ++exchanges;
      handler(std::move(request), answer);
      keeps = co_await send(stream, *answer, version, keeps, head_only) && keeps;
      answer->leave();
      --exchanges;
      const std::lock_guard lock(mutex);
      if (keeps) idle.insert(&socket);
    }
    error_code ignored;
    socket.shutdown(tcp::socket::shutdown_send, ignored);
    const std::lock_guard lock(mutex);
    idle.erase(&socket);
  }

  void hand_over(tcp::socket& socket, std::string first_bytes, std::string peer) const {
    error_code error;
    const int descriptor = socket.release(error);
    if (!error) options.upgrade({descriptor, std::move(first_bytes), std::move(peer)});
  }

  asio::awaitable<void> refuse(Stream& stream, int status) {
    http::response<http::string_body> response(static_cast<http::status>(status), 11);
    response.set(http::field::content_type, "application/json");
    response.keep_alive(false);
    const char* problem = status == 413   ? "the body of the request is too large"
                          : status == 431 ? "the headers of the request are too large"
                                          : "the request is not HTTP/1.1";
    if (options.refusal) response.body() = options.refusal(status, problem);
    response.prepare_payload();
    stream.expires_after(options.sending);
    co_await http::async_write(stream, response, kWait);
    // A client that is still sending would lose the answer if the connection ended now.
    stream.expires_after(std::chrono::seconds(2));
    std::vector<char> rest(1 << 16);
    for (int64_t taken = 0; taken < 4 * options.body_bytes;) {
      const auto [error, bytes] = co_await stream.async_read_some(asio::buffer(rest), kWait);
      if (error) break;
      taken += static_cast<int64_t>(bytes);
    }
  }

  // False: the connection cannot be used any more.
  asio::awaitable<bool> send(Stream& stream, Answer& answer, unsigned version, bool keeps,
                             bool head_only) {
    using asio::experimental::awaitable_operators::operator||;
    bool watches = true, is_chunked = false;
    for (;;) {
      Answer::Ready ready = answer.take();
      if (ready.is_over_limit) co_return false;
      if (ready.head) {
        if (ready.head->source) {
          co_return co_await send_source(stream, *ready.head, version, keeps, head_only);
        }
        if (ready.head->is_whole) {
          co_return co_await send_whole(stream, *ready.head, std::move(ready.pieces.front()),
                                        version, keeps, head_only);
        }
        is_chunked = version >= 11;
        if (!co_await send_head(stream, *ready.head, version, keeps && is_chunked)) co_return false;
      }
      for (const std::string& piece : ready.pieces) {
        stream.expires_after(options.sending);
        error_code error;
        if (is_chunked) {
          std::tie(error, std::ignore) =
              co_await asio::async_write(stream, http::make_chunk(asio::buffer(piece)), kWait);
        } else {
          std::tie(error, std::ignore) =
              co_await asio::async_write(stream, asio::buffer(piece), kWait);
        }
        if (error) co_return false;
      }
      if (ready.is_last) {
        if (!is_chunked) co_return false;
        const auto [error, bytes] =
            co_await asio::async_write(stream, http::make_chunk_last(), kWait);
        co_return !error;
      }
      if (ready.head || !ready.pieces.empty()) continue;  // more may have come meanwhile
      stream.expires_never();
      if (!watches) {
        co_await answer.changed().async_wait(kWait);
        continue;
      }
      // A client that is gone makes its socket readable.
      const auto first = co_await (answer.changed().async_wait(kWait) ||
                                   stream.socket().async_wait(tcp::socket::wait_read, kWait));
      if (first.index() == 0) continue;
      char byte = 0;
      const auto peeked =
          ::recv(stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (peeked == 0 || (peeked < 0 && errno != EAGAIN && errno != EINTR)) co_return false;
      if (peeked > 0) watches = false;  // the next request
    }
  }

  asio::awaitable<bool> send_whole(Stream& stream, const Answer::Head& head, std::string body,
                                   unsigned version, bool keeps, bool head_only) {
    http::response<http::string_body> response(static_cast<http::status>(head.status), version);
    set_fields(response, head, keeps);
    const uint64_t length = body.size();
    if (!head_only) response.body() = std::move(body);
    // 304 has no body, and its length would be that of the file.
    if (head.status != 304) response.content_length(length);
    stream.expires_after(options.sending);
    const auto [error, bytes] = co_await http::async_write(stream, response, kWait);
    co_return !error;
  }

  asio::awaitable<bool> send_source(Stream& stream, const Answer::Head& head, unsigned version,
                                    bool keeps, bool head_only) {
    http::response<http::empty_body> response(static_cast<http::status>(head.status), version);
    set_fields(response, head, keeps);
    const BodySource& body = *head.source;
    response.content_length(static_cast<uint64_t>(body.bytes));
    http::response_serializer<http::empty_body> serializer(response);
    stream.expires_after(options.sending);
    const auto [refused, sent] = co_await http::async_write_header(stream, serializer, kWait);
    if (refused) co_return false;
    for (int64_t at = 0; at < body.bytes && !head_only;) {
      const std::string piece = body.read(at, std::min(kPieceBytes, body.bytes - at));
      if (piece.empty()) co_return false;
      stream.expires_after(options.sending);
      const auto [error, bytes] = co_await asio::async_write(stream, asio::buffer(piece), kWait);
      if (error) co_return false;
      at += std::ssize(piece);
    }
    co_return true;
  }

  asio::awaitable<bool> send_head(Stream& stream, const Answer::Head& head, unsigned version,
                                  bool keeps) {
    http::response<http::empty_body> response(static_cast<http::status>(head.status), version);
    set_fields(response, head, keeps);
    if (version >= 11) response.chunked(true);
    http::response_serializer<http::empty_body> serializer(response);
    stream.expires_after(options.sending);
    const auto [error, bytes] = co_await http::async_write_header(stream, serializer, kWait);
    co_return !error;
  }

  template <typename Response>
  void set_fields(Response& response, const Answer::Head& head, bool keeps) const {
    response.set(http::field::server, "tapml");
    response.set(http::field::content_type, head.content_type);
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : head.headers) response.set(name, value);
    response.keep_alive(keeps && !closing);
  }

  void close() {
    closing = true;
    asio::post(acceptor.get_executor(), [this] {
      error_code ignored;
      acceptor.close(ignored);
    });
    // Wakes the connections that wait for a request; shutdown() is safe beside their reads.
    const std::lock_guard lock(mutex);
    for (tcp::socket* socket : idle) ::shutdown(socket->native_handle(), SHUT_RD);
  }

  ~State() {
    io.stop();
    for (std::thread& thread : threads) thread.join();
  }

  const HttpOptions options;
  const HttpHandler handler;
  std::unique_ptr<net::TlsTerminator> tls;  // if the clients encrypt
  std::mutex mutex;
  std::set<tcp::socket*> idle;  // connections without a request
  std::atomic<int64_t> connections = 0, exchanges = 0;
  std::atomic<bool> closing = false;
  std::string address;
  uint16_t port = 0;
  asio::io_context io;
  tcp::acceptor acceptor;
  std::vector<std::thread> threads;
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpOptions& options,
                                                       HttpHandler handler) {
  auto state = std::make_unique<State>(options, std::move(handler));
  if (Status opened = state->open(); !opened) return fail(std::move(opened).error());
  state->start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

const std::string& HttpServer::host() const { return state_->address; }
uint16_t HttpServer::port() const { return state_->port; }
int64_t HttpServer::connections() const { return state_->connections; }
int64_t HttpServer::open_exchanges() const { return state_->exchanges; }
void HttpServer::close() { state_->close(); }

}  // namespace tapml::server
