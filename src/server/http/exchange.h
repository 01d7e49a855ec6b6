// A request of HTTP and the answer to it, without the connection that they travel on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapml::server {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // without the query, still percent-encoded
  std::string query;   // without "?"
  std::string body;
  // Headers; empty: absent.
  std::string host, origin, authorization, upgrade, range, if_range, if_none_match;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// A body that is not in memory.
struct BodySource {
  int64_t bytes = 0;
  // The piece at an offset, of at most so many bytes; empty: the rest is lost, and the connection
  // ends. Called for the pieces in order, on a thread of the server.
  std::function<std::string(int64_t at, int64_t most)> read;
};

// The answer to one request. Thread-safe; calls after the end have no effect. The client may be
// slow or gone at any time: what it has not taken is kept up to a limit, and then the connection
// ends.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // The whole answer.
  virtual void respond(int status, std::string content_type, std::string body,
                       HttpHeaders headers = {}) = 0;
  // The same with a body that is read as the client takes it.
  virtual void respond_from(int status, std::string content_type, BodySource body,
                            HttpHeaders headers = {}) = 0;
  // An answer in pieces: its head, any number of write(), and end().
  virtual void begin(int status, std::string content_type, HttpHeaders headers = {}) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
  // `gone` is called once if the connection ends before the answer does, on a thread of the server;
  // at once if it has ended already.
  virtual void on_gone(std::function<void()> gone) = 0;
};

// Answers a request, at once or later and on any thread. Must not throw.
using HttpHandler = std::function<void(HttpRequest request, std::shared_ptr<Exchange> exchange)>;

}  // namespace tapml::server
