// Serves HTTP/1.1 and HTTPS: connections, limits and time limits. All of Boost.Beast is in its
// source.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/http/exchange.h"

namespace tapml::server {

// A connection that leaves HTTP.
struct Upgraded {
  int socket = -1;  // owned by the receiver; plain bytes, even if the client's are encrypted
  std::string first_bytes;  // the request, and what has come after it: to be read before the rest
  std::string peer;         // address and port of the client, for people
};

struct HttpOptions {
  std::string host = "127.0.0.1";        // a name or an address; several addresses: the first
  uint16_t port = 0;                     // 0: a free one
  std::string tls_certificate, tls_key;  // PEM files; both or neither
  // Whether it may listen beyond this machine.
  bool anywhere = false;
  int64_t connections = 512;         // most at once; more are closed
  int64_t body_bytes = 4LL << 20;    // of a request
  int64_t unsent_bytes = 4LL << 20;  // of an answer that its client does not take
  std::chrono::seconds idle{75};     // a connection without a request, or with a part of one
  // The body, in JSON, of the answer to a request that cannot be read.
  std::function<std::string(int status, const std::string& problem)> refusal;
  std::chrono::seconds sending{30};  // of each piece of an answer
  // Requests for which this returns true go to `upgrade` with their connections. Both on threads of
  // the server; they must not throw.
  std::function<bool(const HttpRequest& request)> upgrades;
  std::function<void(Upgraded connection)> upgrade;
};

class HttpServer {
 public:
  // Starts to listen, with threads of its own. UserError for an address beyond this machine that is
  // not allowed, and for unusable certificates; PlatformError for an address that does not exist or
  // is in use.
  static Result<std::unique_ptr<HttpServer>> listen(const HttpOptions& options,
                                                    HttpHandler handler);
  // Ends all connections. No thread may use an exchange any more.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  const std::string& host() const;  // the address
  uint16_t port() const;            // the actual one
  int64_t connections() const;
  int64_t open_exchanges() const;  // requests without a complete answer
  // Takes no more connections, and ends those that have no request.
  void close();

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tapml::server
