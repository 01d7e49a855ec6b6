// TLS over connected sockets (OpenSSL): certificates, and one non-blocking connection.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;
struct x509_st;
struct x509_store_ctx_st;

namespace tapml::rpc {

// Settings shared by all connections of a server or of a client. TLS 1.2 and later, without tickets
// and renegotiation.
class TlsContext {
 public:
  // Reads PEM files: the certificate with those between it and its root, and its key. UserError if
  // they cannot be read or do not belong together.
  static Result<std::unique_ptr<TlsContext>> for_server(const std::string& certificate_file,
                                                        const std::string& key_file) noexcept;
  // The other side's certificate must be signed by one of `ca_file` (PEM) or, without a file, by
  // one of the system's.
  static Result<std::unique_ptr<TlsContext>> for_client(const std::string& ca_file) noexcept;
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;

 private:
  friend class TlsConnection;
  explicit TlsContext(ssl_ctx_st* context) noexcept : context_(context) {}
  static std::unique_ptr<TlsContext> own(ssl_ctx_st* context);

  ssl_ctx_st* context_;
};

// Uses a socket that the caller keeps open. Thread-safe; no call waits.
class TlsConnection {
 public:
  enum class Step {
    kDone,       // at least one byte was transferred, or the handshake is complete
    kWantRead,   // repeat when the socket can be read
    kWantWrite,  // repeat when it can be written; a write() first, with the same bytes
    kEnd,        // the other side has ended its direction
    kFailed,     // error()
  };

  // The server's end.
  static Result<std::unique_ptr<TlsConnection>> accept(const TlsContext& context, int socket,
                                                       std::string peer) noexcept;
  // The client's end: the certificate must be for `host`, a name or an address.
  static Result<std::unique_ptr<TlsConnection>> connect(const TlsContext& context, int socket,
                                                        const std::string& host,
                                                        std::string peer) noexcept;
  ~TlsConnection();
  TlsConnection(const TlsConnection&) = delete;

  Step handshake() noexcept;
  Step read(std::span<std::byte> to, size_t& count) noexcept;
  Step write(std::span<const std::byte> bytes, size_t& count) noexcept;
  // Reports that nothing more will come, if that can be sent at once.
  void end() noexcept;
  // After kFailed, or kEnd during the handshake. UserError for an unacceptable certificate,
  // otherwise kLost or kProtocol.
  Error error() const;

 private:
  TlsConnection(ssl_st* connection, int socket, std::string peer);
  static std::unique_ptr<TlsConnection> own(ssl_st* connection, int socket, std::string peer);
  Step step(int result) noexcept;
  void note_failure(int kind) noexcept;
  Error certificate_error(long verdict) const;
  static int on_verify(int accepted, x509_store_ctx_st* context) noexcept;

  mutable std::mutex lock_;
  ssl_st* connection_;
  x509_st* refused_ = nullptr;  // the certificate that was refused
  std::string peer_, host_;
  struct Socket {
    int fd;
    bool ended = false;
    int error = 0;  // errno of the last failed call
  } socket_;
  Error error_;
  bool failed_ = false, established_ = false;
};

}  // namespace tapml::rpc
