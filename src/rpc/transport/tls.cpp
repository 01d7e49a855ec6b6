#include "rpc/transport/tls.h"

#ifdef TAPML_HAS_OPENSSL
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>

#include "rpc/transport/descriptor.h"
#endif

#include "base/strings.h"

namespace tapml::rpc {

#ifdef TAPML_HAS_OPENSSL

namespace {

// OpenSSL's text for the last failed call on this thread; empties its queue.
std::string openssl_text() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "unknown reason";
}

Result<SSL_CTX*> make_context(const SSL_METHOD* method) noexcept {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(method);
  if (context == nullptr) {
    return fail(platform_error(PlatformFault::kLimit, "TLS cannot be used: " + openssl_text()));
  }
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // A write that has to wait is repeated with the same bytes, perhaps at another address.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  return context;
}

int no_password(char*, int, int, void*) { return -1; }  // instead of a prompt on the terminal

Error file_error(const std::string& what, const std::string& file, const std::string& expected) {
  return user_error(what + ": " + openssl_text(), file, expected);
}

// --- a socket that neither waits nor raises SIGPIPE ---------------------------------------------

template <class Socket>
Socket& socket_of(BIO* bio) {
  return *static_cast<Socket*>(BIO_get_data(bio));
}

template <class Socket>
int finish_call(BIO* bio, ssize_t count, bool reading) {
  BIO_clear_retry_flags(bio);
  Socket& socket = socket_of<Socket>(bio);
  if (count > 0) return static_cast<int>(count);
  if (count == 0) {
    socket.ended = socket.ended || reading;
    return 0;
  }
  socket.error = errno;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    socket.error = 0;
    reading ? BIO_set_retry_read(bio) : BIO_set_retry_write(bio);
  }
  return -1;
}

template <class Socket>
const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_read(made, [](BIO* bio, char* to, int size) {
      return finish_call<Socket>(bio,
                                 ::recv(socket_of<Socket>(bio).fd, to, static_cast<size_t>(size),
                                        MSG_DONTWAIT | MSG_NOSIGNAL),
                                 true);
    });
    BIO_meth_set_write(made, [](BIO* bio, const char* from, int size) {
      return finish_call<Socket>(bio,
                                 ::send(socket_of<Socket>(bio).fd, from, static_cast<size_t>(size),
                                        MSG_DONTWAIT | MSG_NOSIGNAL),
                                 false);
    });
    BIO_meth_set_ctrl(made, [](BIO* bio, int command, long, void*) -> long {
      if (command == BIO_CTRL_FLUSH) return 1;
      if (command == BIO_CTRL_EOF) return socket_of<Socket>(bio).ended ? 1 : 0;
      return 0;
    });
    return made;
  }();
  return method;
}

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

std::string text_of(const ASN1_STRING* text) {
  std::string plain(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                    static_cast<size_t>(ASN1_STRING_length(text)));
  for (char& c : plain) {
    if (c < ' ' || c > '~') c = '?';
  }
  return plain;
}

// "board.local, 10.0.0.7"
std::string names_of(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::string text;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()) && i < 16; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    std::string one;
    if (name->type == GEN_DNS) one = text_of(name->d.dNSName);
    if (name->type == GEN_IPADD) {
      const bool v4 = ASN1_STRING_length(name->d.iPAddress) == 4;
      char address[INET6_ADDRSTRLEN] = "";
      if (v4 || ASN1_STRING_length(name->d.iPAddress) == 16) {
        ::inet_ntop(v4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), address,
                    sizeof address);
      }
      one = address;
    }
    if (!one.empty()) text += (text.empty() ? "" : ", ") + one;
  }
  return text.empty() ? "no names" : text;
}

// "2026-01-31 23:59:59 UTC"
std::string time_text(const ASN1_TIME* time) {
  tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "?";
  char text[64];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text, size};
}

}  // namespace

std::unique_ptr<TlsContext> TlsContext::own(ssl_ctx_st* context) {
  return std::unique_ptr<TlsContext>(new TlsContext(context));
}

Result<std::unique_ptr<TlsContext>> TlsContext::for_server(const std::string& certificate_file,
                                                           const std::string& key_file) noexcept {
  TAPML_ASSIGN(SSL_CTX * made, make_context(TLS_server_method()));
  std::unique_ptr<TlsContext> context = own(made);
  SSL_CTX_set_default_passwd_cb(made, no_password);
  if (SSL_CTX_use_certificate_chain_file(made, certificate_file.c_str()) != 1) {
    return fail(file_error("the certificate cannot be used", certificate_file,
                           "a PEM file: the server's certificate, then those up to its root"));
  }
  if (SSL_CTX_use_PrivateKey_file(made, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(file_error("the key cannot be used", key_file,
                           "a PEM file with the certificate's private key, without a password"));
  }
  if (SSL_CTX_check_private_key(made) != 1) {
    return fail(file_error("the key does not belong to the certificate", key_file,
                           "the key of " + certificate_file));
  }
  return context;
}

Result<std::unique_ptr<TlsContext>> TlsContext::for_client(const std::string& ca_file) noexcept {
  TAPML_ASSIGN(SSL_CTX * made, make_context(TLS_client_method()));
  std::unique_ptr<TlsContext> context = own(made);
  SSL_CTX_set_verify(made, SSL_VERIFY_PEER, nullptr);
  if (ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(made);
  } else if (SSL_CTX_load_verify_locations(made, ca_file.c_str(), nullptr) != 1) {
    return fail(file_error("the certificates to trust cannot be read", ca_file,
                           "a PEM file of root certificates"));
  }
  return context;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

TlsConnection::TlsConnection(ssl_st* connection, int socket, std::string peer)
    : connection_(connection), peer_(std::move(peer)), socket_{socket} {}

std::unique_ptr<TlsConnection> TlsConnection::own(ssl_st* connection, int socket,
                                                  std::string peer) {
  return std::unique_ptr<TlsConnection>(new TlsConnection(connection, socket, std::move(peer)));
}

TlsConnection::~TlsConnection() {
  X509_free(refused_);
  SSL_free(connection_);
}

Result<std::unique_ptr<TlsConnection>> TlsConnection::accept(const TlsContext& context, int socket,
                                                             std::string peer) noexcept {
  ERR_clear_error();
  std::unique_ptr<TlsConnection> connection =
      own(SSL_new(context.context_), socket, std::move(peer));
  BIO* bio = BIO_new(socket_method<Socket>());
  if (connection->connection_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    return fail(platform_error(PlatformFault::kLimit, "no TLS connection: " + openssl_text()));
  }
  BIO_set_data(bio, &connection->socket_);
  BIO_set_init(bio, 1);
  SSL_set_bio(connection->connection_, bio, bio);
  SSL_set_accept_state(connection->connection_);
  return connection;
}

Result<std::unique_ptr<TlsConnection>> TlsConnection::connect(const TlsContext& context, int socket,
                                                              const std::string& host,
                                                              std::string peer) noexcept {
  TAPML_ASSIGN(auto connection, accept(context, socket, std::move(peer)));
  SSL* ssl = connection->connection_;
  connection->host_ = host;
  SSL_set_connect_state(ssl);
  SSL_set_app_data(ssl, connection.get());
  SSL_set_verify(ssl, SSL_VERIFY_PEER, on_verify);
  bool named = false;
  if (is_address(host)) {
    named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  } else {
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    named =
        SSL_set1_host(ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
  }
  // Without a name to check, any certificate would be accepted.
  if (!named) {
    return fail(user_error("this is not a name that a certificate can have", connection->peer_,
                           "a host's name or address", in_quotes(host)));
  }
  return connection;
}

// Keeps the first certificate that is refused, for the message.
int TlsConnection::on_verify(int accepted, x509_store_ctx_st* context) noexcept {
  const auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* self = static_cast<TlsConnection*>(SSL_get_app_data(ssl));
  X509* certificate = X509_STORE_CTX_get_current_cert(context);
  if (accepted == 0 && self->refused_ == nullptr && certificate && X509_up_ref(certificate) == 1) {
    self->refused_ = certificate;
  }
  return accepted;
}

TlsConnection::Step TlsConnection::handshake() noexcept {
  std::lock_guard guard(lock_);
  if (failed_) return Step::kFailed;
  ERR_clear_error();
  const Step done = step(SSL_do_handshake(connection_));
  established_ = done == Step::kDone;
  if (done == Step::kEnd && !failed_) {
    failed_ = true;
    error_ =
        platform_error(PlatformFault::kLost, "the connection was closed during the TLS handshake",
                       peer_, "does the other side speak TLS?");
  }
  return done;
}

TlsConnection::Step TlsConnection::read(std::span<std::byte> to, size_t& count) noexcept {
  std::lock_guard guard(lock_);
  if (failed_) return Step::kFailed;
  ERR_clear_error();
  return step(SSL_read_ex(connection_, to.data(), to.size(), &count));
}

TlsConnection::Step TlsConnection::write(std::span<const std::byte> bytes, size_t& count) noexcept {
  std::lock_guard guard(lock_);
  if (failed_) return Step::kFailed;
  ERR_clear_error();
  return step(SSL_write_ex(connection_, bytes.data(), bytes.size(), &count));
}

void TlsConnection::end() noexcept {
  std::lock_guard guard(lock_);
  if (failed_ || !established_) return;
  ERR_clear_error();
  SSL_shutdown(connection_);
}

Error TlsConnection::error() const {
  std::lock_guard guard(lock_);
  return error_;
}

// The caller holds lock_.
TlsConnection::Step TlsConnection::step(int result) noexcept {
  if (result > 0) return Step::kDone;
  const int kind = SSL_get_error(connection_, result);
  switch (kind) {
    case SSL_ERROR_WANT_READ:
      return Step::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Step::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Step::kEnd;
    default:
      break;
  }
  // The end came without TLS's close_notify: the sizes of frames show whether data is missing.
  if (socket_.ended && SSL_get_verify_result(connection_) == X509_V_OK &&
      (kind == SSL_ERROR_SYSCALL ||
       ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)) {
    return Step::kEnd;
  }
  // A socket that accepts no more data may still hold the last data of the other side.
  failed_ = kind != SSL_ERROR_SYSCALL || !established_;
  note_failure(kind);
  return Step::kFailed;
}

void TlsConnection::note_failure(int kind) noexcept {
  const unsigned long code = ERR_peek_error();
  const int reason = ERR_GET_REASON(code);
  const long verdict = SSL_get_verify_result(connection_);
  if (kind == SSL_ERROR_SYSCALL) {
    error_ = platform_error(PlatformFault::kLost,
                            "the connection failed: " + errno_text(socket_.error), peer_);
  } else if (verdict != X509_V_OK) {
    error_ = certificate_error(verdict);
  } else if (established_ && reason >= SSL_AD_REASON_OFFSET) {
    error_ = platform_error(
        PlatformFault::kLost,
        std::string("the connection was ended by the other side: ") + ERR_reason_error_string(code),
        peer_);
  } else if (!established_ &&
             (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
              reason == SSL_R_PACKET_LENGTH_TOO_LONG || reason == SSL_R_RECORD_LENGTH_MISMATCH)) {
    error_ = platform_error(PlatformFault::kProtocol, "the other side does not speak TLS", peer_,
                            "a server without --tls-cert is at tcp:host:port");
  } else {
    const char* text = ERR_reason_error_string(code);
    error_ = platform_error(PlatformFault::kProtocol,
                            std::string("TLS failed: ") + (text ? text : "unknown reason"), peer_);
  }
  ERR_clear_error();
}

Error TlsConnection::certificate_error(long verdict) const {
  Error error = user_error(std::string("the other side's certificate is not accepted: ") +
                               X509_verify_cert_error_string(verdict),
                           peer_);
  switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      error.expected = "a certificate for " + in_quotes(host_);
      if (refused_) error.found = "one for " + names_of(refused_);
      error.hint = "use the server's name from its certificate";
      break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      if (refused_) error.found = "valid until " + time_text(X509_get0_notAfter(refused_));
      error.hint = "the server needs a new certificate, or this machine's clock is wrong";
      break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      if (refused_) error.found = "valid from " + time_text(X509_get0_notBefore(refused_));
      error.hint = "is this machine's clock right?";
      break;
    default:
      error.hint = "--tls-ca FILE (or TAPML_RPC_CA) names the root certificate to trust";
      break;
  }
  return error;
}

#else  // built without OpenSSL

namespace {
std::unexpected<Error> no_tls() {
  return fail(platform_error(PlatformFault::kAbsent, "this tapml was built without TLS", "",
                             "build it where OpenSSL (libssl-dev) is installed"));
}
}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::for_server(const std::string&,
                                                           const std::string&) noexcept {
  return no_tls();
}
Result<std::unique_ptr<TlsContext>> TlsContext::for_client(const std::string&) noexcept {
  return no_tls();
}
TlsContext::~TlsContext() = default;
Result<std::unique_ptr<TlsConnection>> TlsConnection::accept(const TlsContext&, int,
                                                             std::string) noexcept {
  return no_tls();
}
Result<std::unique_ptr<TlsConnection>> TlsConnection::connect(const TlsContext&, int,
                                                              const std::string&,
                                                              std::string) noexcept {
  return no_tls();
}
TlsConnection::~TlsConnection() = default;
TlsConnection::Step TlsConnection::handshake() noexcept { return Step::kFailed; }
TlsConnection::Step TlsConnection::read(std::span<std::byte>, size_t&) noexcept {
  return Step::kFailed;
}
TlsConnection::Step TlsConnection::write(std::span<const std::byte>, size_t&) noexcept {
  return Step::kFailed;
}
void TlsConnection::end() noexcept {}
Error TlsConnection::error() const { return error_; }

#endif

}  // namespace tapml::rpc
