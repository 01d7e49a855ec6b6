#include "server/http/access.h"

#include <algorithm>
#include <string_view>

#include "base/same_secret.h"

namespace tapml::server {

namespace {

// Without the port; lower case is as clients send it.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool is_local_name(std::string_view name) {
  return name == "localhost" || name.ends_with(".localhost") || name == "[::1]" ||
         name.starts_with("127.");
}

bool is_allowed_origin(const AccessRules& rules, const std::string& origin) {
  return std::ranges::any_of(rules.origins, [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

}  // namespace

std::optional<AccessRefusal> refuse_access(const AccessRules& rules, const HttpRequest& request,
                                           bool needs_key) {
  const std::string_view name = host_name(request.host);
  if (rules.is_loopback && !name.empty() && !is_local_name(name)) {
    return AccessRefusal{403,
                         "the server is for this machine only, and the request is for \"" +
                             request.host + "\"; use localhost",
                         "wrong_host"};
  }
  if (!request.origin.empty() && !is_allowed_origin(rules, request.origin) &&
      request.origin != "http://" + request.host && request.origin != "https://" + request.host) {
    return AccessRefusal{
        403, "pages of " + request.origin + " may not call this server; --allow-origin lets them",
        "wrong_origin"};
  }
  if (rules.keys.empty() || !needs_key) return {};
  constexpr std::string_view kBearer = "Bearer ";
  std::string_view given = request.authorization;
  if (given.starts_with(kBearer)) given.remove_prefix(kBearer.size());
  bool is_known = false;
  for (const std::string& key : rules.keys) is_known |= same_secret(given, key);
  if (is_known) return {};
  return AccessRefusal{401,
                       given.empty() ? "the server needs a key: Authorization: Bearer KEY"
                                     : "the key is not one of this server's",
                       "invalid_api_key"};
}

HttpHeaders origin_headers(const AccessRules& rules, const HttpRequest& request) {
  if (request.origin.empty() || !is_allowed_origin(rules, request.origin)) return {};
  return {{"Access-Control-Allow-Origin", request.origin},
          {"Vary", "Origin"},
          {"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
          {"Access-Control-Allow-Headers", "Authorization, Content-Type"}};
}

}  // namespace tapml::server
