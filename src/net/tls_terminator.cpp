#include "net/tls_terminator.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <thread>
#include <vector>

namespace tapml::net {

namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kWait = asio::as_tuple(asio::use_awaitable);
constexpr size_t kBytes = 64 << 10;  // a buffer of one direction
// How long a client may take to end its side after the server has ended.
constexpr std::chrono::seconds kLinger{2};

// A client's connection. Its two directions are independent, as those of a socket are: the end of
// one is passed on, and the other goes on.
class Connection {
 public:
  Connection(tcp::socket client, tcp::socket plain, ssl::context& context)
      : client_(std::move(client), context), plain_(std::move(plain)) {}

  asio::awaitable<void> serve() {
    using asio::experimental::awaitable_operators::operator&&;
    if (co_await handshake()) co_await (carry_to_server() && carry_to_client());
  }

 private:
  // False: it failed, or the server has closed its end.
  asio::awaitable<bool> handshake() {
    using asio::experimental::awaitable_operators::operator||;
    const auto first =
        co_await (client_.async_handshake(ssl::stream_base::server, kWait) || server_closes());
    co_return first.index() == 0 && !std::get<0>(std::get<0>(first));
  }

  asio::awaitable<void> server_closes() {
    co_await plain_.async_wait(tcp::socket::wait_read, kWait);
    char byte = 0;
    if (::recv(plain_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) co_return;
    // It speaks first: the handshake's own end is waited for.
    asio::steady_timer never(plain_.get_executor(), asio::steady_timer::time_point::max());
    co_await never.async_wait(kWait);
  }

  asio::awaitable<void> carry_to_server() {
    std::vector<char> bytes(kBytes);
    bool takes = true;
    for (;;) {
      const auto [error, count] = co_await client_.async_read_some(asio::buffer(bytes), kWait);
      if (error) break;
      if (!takes) continue;  // a client that still sends would lose the answer on its way
      const auto [refused, written] =
          co_await asio::async_write(plain_, asio::buffer(bytes.data(), count), kWait);
      takes = !refused;
    }
    error_code ignored;
    plain_.shutdown(tcp::socket::shutdown_send, ignored);
  }

  asio::awaitable<void> carry_to_client() {
    std::vector<char> bytes(kBytes);
    for (;;) {
      const auto [error, count] = co_await plain_.async_read_some(asio::buffer(bytes), kWait);
      if (error) break;
      const auto [lost, written] =
          co_await asio::async_write(client_, asio::buffer(bytes.data(), count), kWait);
      if (lost) break;
    }
    asio::steady_timer limit(plain_.get_executor(), kLinger);
    limit.async_wait([this](const error_code& cancelled) {
      if (!cancelled) close();
    });
    co_await client_.async_shutdown(kWait);
    limit.cancel();
    close();
  }

  // Ends carry_to_server() too.
  void close() {
    error_code ignored;
    client_.lowest_layer().close(ignored);
    plain_.shutdown(tcp::socket::shutdown_both, ignored);
  }

  ssl::stream<tcp::socket> client_;
  tcp::socket plain_;
};

asio::awaitable<void> serve(std::shared_ptr<Connection> connection) {
  co_await connection->serve();
}

Error unusable(const std::string& what, const std::string& file, const std::string& expected,
               const error_code& error) {
  return user_error(what + " cannot be used", file, expected + " in PEM form", error.message());
}

}  // namespace

struct TlsTerminator::State {
  State() : context(ssl::context::tls_server) {}
  ~State() {
    io.stop();
    if (thread.joinable()) thread.join();
  }

  // Of any family: only reads and writes follow.
  tcp::socket adopt(int descriptor) {
    tcp::socket socket(io);
    error_code error;
    socket.assign(tcp::v4(), descriptor, error);
    if (error) ::close(descriptor);
    return socket;
  }

  ssl::context context;
  asio::io_context io;
  const asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  std::thread thread;
};

TlsTerminator::TlsTerminator(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsTerminator::~TlsTerminator() = default;

Result<std::unique_ptr<TlsTerminator>> TlsTerminator::create(const std::string& certificate_file,
                                                             const std::string& key_file) {
  auto state = std::make_unique<State>();
  error_code error;
  state->context.set_options(
      ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, error);
  state->context.use_certificate_chain_file(certificate_file, error);
  if (error) {
    return fail(unusable("the certificate", certificate_file, "a certificate", error));
  }
  state->context.use_private_key_file(key_file, ssl::context::pem, error);
  if (error) {
    return fail(unusable("the private key", key_file, "the certificate's private key", error));
  }
  state->thread = std::thread([io = &state->io] { io->run(); });
  return std::unique_ptr<TlsTerminator>(new TlsTerminator(std::move(state)));
}

int TlsTerminator::terminate(int client_socket) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    ::close(client_socket);
    return -1;
  }
  tcp::socket client = state_->adopt(client_socket), plain = state_->adopt(ends[0]);
  if (client.is_open() && plain.is_open()) {
    asio::co_spawn(
        state_->io,
        serve(std::make_shared<Connection>(std::move(client), std::move(plain), state_->context)),
        asio::detached);
  }
  return ends[1];
}

}  // namespace tapml::net
