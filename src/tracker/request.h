// What a request to the tracker asks for, and whether it may.
#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/transport/connect.h"

namespace tapml::tracker {

// The parts of an HTTP request that matter; headers are empty if absent.
struct Request {
  std::string method, target;  // "GET", "/device?key=lab"
  std::string host, origin, authorization;
  bool is_websocket = false;  // it asks to become a WebSocket
  bool upgrades = false;      // or a connection of plain bytes
};

struct Rules {
  std::string token;                 // that every request must present; empty: none
  std::vector<std::string> origins;  // whose pages may connect, besides the tracker's own
  rpc::Endpoint endpoint;            // the tracker's
};

struct Asked {
  enum class Kind : uint8_t { kDevice, kLease, kStatus } kind = Kind::kStatus;
  std::string key;
  int64_t priority = 0;
  std::chrono::seconds wait{0};
  std::chrono::seconds signs{0};  // between signs of life that a page wants; 0: none
};

// An answer by HTTP.
struct Refusal {
  int status = 0;
  std::string message;
};

// GET /device?key=KEY&signs=SECONDS, /lease?key=KEY&priority=N&wait=SECONDS, /status. The token is
// in the header `Authorization: Bearer TOKEN`, or in the query (`token=`), since pages cannot set
// the header of a WebSocket. Refuses pages of other origins, wrong tokens, and everything else.
std::expected<Asked, Refusal> understand(const Request& request, const Rules& rules);

// UserError unless it is like "https://lab.example:8443".
Status check_origin(const std::string& origin);

}  // namespace tapml::tracker
