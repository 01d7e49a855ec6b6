#include <sys/un.h>

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "rpc/transport/connect.h"

namespace tapml::rpc {

namespace {

constexpr std::string_view kEndpointForms =
    "host:port, tcp:host:port, tcp:[IPv6 address]:port, tls:host:port, unix:path, "
    "pipe:command, tracker:host:port/KEY or tracker/KEY";

std::unexpected<Error> bad_endpoint(std::string_view text, std::string message,
                                    std::string found = "", std::string hint = "") {
  return fail(user_error(std::move(message), "endpoint " + in_quotes(text),
                         std::string(kEndpointForms), std::move(found), std::move(hint)));
}

bool take_scheme(std::string_view& text, std::string_view scheme) {
  if (!text.starts_with(scheme)) return false;
  text.remove_prefix(scheme.size());
  return true;
}

Result<Endpoint> parse_tcp_endpoint(std::string_view text, std::string_view rest) {
  std::string_view host, port;
  if (rest.starts_with('[')) {
    const size_t closing = rest.find(']');
    if (closing == std::string_view::npos) return bad_endpoint(text, "the bracket is not closed");
    host = rest.substr(1, closing - 1);
    port = rest.substr(closing + 1);
    if (!port.starts_with(':')) {
      return bad_endpoint(text, "there is no port after the address", in_quotes(port),
                          "add \":\" and the port");
    }
    port.remove_prefix(1);
  } else {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) {
      return bad_endpoint(text, "the endpoint has no port", in_quotes(rest),
                          "add \":\" and the port");
    }
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
    if (port.find(':') != std::string_view::npos) {
      return bad_endpoint(text, "more than one colon", in_quotes(rest),
                          "write an IPv6 address in brackets: [::1]:9000");
    }
  }
  if (host.empty()) {
    return bad_endpoint(text, "the endpoint has no host", "", "127.0.0.1 is this machine");
  }
  for (const char c : host) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || c == '/' || c == '@') {
      return bad_endpoint(text, "not a host name", in_quotes(host));
    }
  }
  Endpoint endpoint;
  endpoint.host = std::string(host);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return bad_endpoint(text, "the port is not a number from 0 to 65535", in_quotes(port));
  }
  return endpoint;
}

// "tracker/KEY" or "tracker:ADDRESS/KEY"; no host has a slash.
bool is_tracker(std::string_view text) {
  return text.starts_with("tracker/") ||
         (text.starts_with("tracker:") && text.find('/') != std::string_view::npos);
}

Result<Endpoint> parse_tracker(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view key = text.substr(slash + 1);
  if (!is_device_key(key)) {
    return bad_endpoint(text, "not a key of devices", in_quotes(key),
                        "a key has 1 to 64 letters, digits, '.', '_' and '-'");
  }
  std::string_view address = text.substr(0, slash);
  Endpoint endpoint;
  if (take_scheme(address, "tracker:")) {
    const bool tls = take_scheme(address, "tls:");
    if (!tls) take_scheme(address, "tcp:");
    TAPML_ASSIGN(endpoint, parse_tcp_endpoint(text, address));
    endpoint.tls = tls;
  }
  endpoint.kind = Endpoint::Kind::kTracker;
  endpoint.key = std::string(key);
  return endpoint;
}

}  // namespace

bool is_device_key(std::string_view text) {
  constexpr size_t kMost = 64;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kMost && std::ranges::all_of(text, fits);
}

std::string Endpoint::text() const {
  switch (kind) {
    case Kind::kUnix:
      return "unix:" + path;
    case Kind::kPipe:
      return "pipe:" + command;
    case Kind::kTracker:
      if (host.empty()) return "tracker/" + key;
      break;
    case Kind::kTcp:
      break;
  }
  const bool brackets = host.find(':') != std::string::npos;
  std::string address = std::string(tls ? "tls:" : "tcp:") + (brackets ? "[" + host + "]" : host) +
                        ":" + std::to_string(port);
  if (kind == Kind::kTcp) return address;
  return "tracker:" + address + (key.empty() ? "" : "/" + key);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return bad_endpoint(text, "the endpoint has a null character");
  }
  if (is_tracker(text)) return parse_tracker(text);
  std::string_view rest = text;
  Endpoint endpoint;
  if (take_scheme(rest, "unix:")) {
    endpoint.kind = Endpoint::Kind::kUnix;
    endpoint.path = std::string(rest);
    constexpr size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
    if (rest.empty()) return bad_endpoint(text, "there is no path after \"unix:\"");
    if (rest.size() > kMost) {
      return bad_endpoint(text, "the path is too long for a socket",
                          std::to_string(rest.size()) + " bytes, at most " + std::to_string(kMost),
                          "a path relative to the working folder is shorter");
    }
    return endpoint;
  }
  if (take_scheme(rest, "pipe:")) {
    endpoint.kind = Endpoint::Kind::kPipe;
    endpoint.command = std::string(rest);
    if (rest.find_first_not_of(" \t") == std::string_view::npos) {
      return bad_endpoint(text, "there is no command after \"pipe:\"");
    }
    return endpoint;
  }
  const bool tls = take_scheme(rest, "tls:");
  if (!tls) take_scheme(rest, "tcp:");
  TAPML_ASSIGN(endpoint, parse_tcp_endpoint(text, rest));
  endpoint.tls = tls;
  return endpoint;
}

}  // namespace tapml::rpc
