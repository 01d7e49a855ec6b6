#include "tracker/request.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/percent.h"
#include "base/same_secret.h"
#include "base/strings.h"

namespace tapml::tracker {

namespace {

std::unexpected<Refusal> refuse(int status, std::string message) {
  return std::unexpected(Refusal{status, std::move(message)});
}

using Query = std::map<std::string, std::string, std::less<>>;

// Nothing for a malformed query, and one that has a name twice.
std::optional<Query> parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t sign = pair.find('=');
    if (sign == std::string_view::npos) return {};
    const auto name = percent_decoded(pair.substr(0, sign)),
               value = percent_decoded(pair.substr(sign + 1));
    if (!name || !value || !query.emplace(*name, *value).second) return {};
  }
  return query;
}

std::optional<int64_t> number(const Query& query, std::string_view name, int64_t otherwise,
                              int64_t least, int64_t most) {
  const auto found = query.find(name);
  if (found == query.end()) return otherwise;
  int64_t value = 0;
  const char* last = found->second.data() + found->second.size();
  const auto [end, error] = std::from_chars(found->second.data(), last, value);
  if (error != std::errc() || end != last || value < least || value > most) return {};
  return value;
}

// "127.0.0.1:9190", "[::1]" ▸ the part without the port, without brackets, in lower case.
std::string name_of(std::string_view host) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string name(host.substr(0, colon));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

bool is_loopback_name(const std::string& name) {
  return name == "localhost" || name == "::1" || name.starts_with("127.");
}

std::string own_name(const Rules& rules) {
  const std::string& host = rules.endpoint.host;
  return name_of(host.find(':') == std::string::npos ? host : "[" + host + "]");
}

// Whether a page that was loaded under the name `host` may be the tracker's own.
bool is_own_name(const std::string& host, const Rules& rules) {
  const std::string own = own_name(rules), name = name_of(host);
  return name == own || (is_loopback_name(own) && is_loopback_name(name));
}

std::optional<Refusal> check_page(const Request& request, const Rules& rules) {
  // A name that leads to this machine for a moment makes a foreign page look like one of the
  // tracker's.
  const bool known = std::ranges::find(rules.origins, request.origin) != rules.origins.end();
  if (request.host.empty()) return Refusal{400, "the request has no host"};
  if (is_loopback_name(own_name(rules)) && !is_own_name(request.host, rules) && !known) {
    return Refusal{403, "the tracker is not called " + request.host.substr(0, 256) +
                            "; it listens on this machine only"};
  }
  if (request.origin.empty() || known) return {};
  const std::string own = (rules.endpoint.tls ? "https://" : "http://") + request.host;
  if (request.origin == own && is_own_name(request.host, rules)) return {};
  return Refusal{403, "pages of " + request.origin.substr(0, 256) +
                          " may not connect; the tracker's --allow-origin allows them"};
}

}  // namespace

std::expected<Asked, Refusal> understand(const Request& request, const Rules& rules) {
  if (auto refusal = check_page(request, rules)) return std::unexpected(std::move(*refusal));
  if (request.method != "GET") return refuse(405, "the tracker takes GET only");
  const size_t question = request.target.find('?');
  const std::string path = request.target.substr(0, question);
  const auto query = parse_query(
      question == std::string::npos ? "" : std::string_view(request.target).substr(question + 1));
  if (!query) return refuse(400, "the query is not one of NAME=VALUE&...");

  constexpr std::string_view kBearer = "Bearer ";
  std::string token;
  if (request.authorization.starts_with(kBearer)) {
    token = request.authorization.substr(kBearer.size());
  } else if (const auto found = query->find("token"); found != query->end()) {
    token = found->second;
  }
  if (!rules.token.empty() && !same_secret(token, rules.token)) {
    return refuse(401, token.empty() ? "the tracker needs a token" : "the token is wrong");
  }

  Asked asked;
  if (path == "/status") return asked;
  if (path != "/device" && path != "/lease") {
    return refuse(404, "the tracker has /device, /lease and /status");
  }
  const bool is_device = path == "/device";
  asked.kind = is_device ? Asked::Kind::kDevice : Asked::Kind::kLease;
  if (const auto found = query->find("key"); found != query->end()) asked.key = found->second;
  if (!rpc::is_device_key(asked.key)) {
    return refuse(400, "key= has 1 to 64 letters, digits, '.', '_' and '-'");
  }
  if (!request.upgrades && !(is_device && request.is_websocket)) {
    return refuse(400, is_device ? "a device connects by WebSocket, or with Upgrade: tapml"
                                 : "a client connects with Upgrade: tapml");
  }
  const auto priority = number(*query, "priority", 0, -100, 100);
  const auto wait = number(*query, "wait", 300, 0, 1'000'000);
  if (!priority) return refuse(400, "priority= is an integer from -100 to 100");
  if (!wait) return refuse(400, "wait= is an integer of seconds from 0 to 1000000");
  const auto signs = number(*query, "signs", 0, 0, 3600);
  if (!signs) return refuse(400, "signs= is an integer of seconds from 0 to 3600");
  asked.signs = std::chrono::seconds(*signs);
  asked.priority = *priority;
  asked.wait = std::chrono::seconds(*wait);
  return asked;
}

Status check_origin(const std::string& origin) {
  const size_t scheme = origin.find("://");
  const bool known = origin.starts_with("http://") || origin.starts_with("https://");
  if (known && origin.size() > scheme + 3 &&
      origin.find_first_of("/?# ", scheme + 3) == std::string::npos) {
    return {};
  }
  return fail(user_error("not the origin of a page", "--allow-origin " + in_quotes(origin),
                         "scheme and host, such as https://lab.example:8443", in_quotes(origin),
                         "without a path, and without a slash at the end"));
}

}  // namespace tapml::tracker
