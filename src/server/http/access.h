// Who may use a server: keys, and which pages of the web.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/http/exchange.h"

namespace tapml::server {

struct AccessRules {
  std::vector<std::string> keys;     // one of these must come with a request; none: all are served
  std::vector<std::string> origins;  // pages that may call: "https://host:port", or "*"
  // The server is reached from this machine only: requests for other host names are refused, which
  // a page of the web could send to it (DNS rebinding).
  bool is_loopback = true;
};

struct AccessRefusal {
  int status = 403;  // of HTTP
  std::string message;
  std::string code;  // "wrong_host", "wrong_origin", "invalid_api_key"
};

// 403 for a page of another origin and for another host's name, 401 for a wrong key where one is
// needed (`needs_key`). Nothing: it is allowed.
std::optional<AccessRefusal> refuse_access(const AccessRules& rules, const HttpRequest& request,
                                           bool needs_key);

// The headers that let the page of a request read the answer; none for other requests.
HttpHeaders origin_headers(const AccessRules& rules, const HttpRequest& request);

}  // namespace tapml::server
