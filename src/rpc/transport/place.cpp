#include <sys/un.h>

#include <charconv>

#include "base/strings.h"
#include "rpc/transport/connect.h"

namespace tapml::rpc {

namespace {

constexpr std::string_view kPlaceForms =
    "host:port, tcp:host:port, tcp:[IPv6 address]:port, tls:host:port, unix:path or pipe:command";

std::unexpected<Error> bad_place(std::string_view text, std::string message, std::string found = "",
                                 std::string hint = "") {
  return fail(user_error(std::move(message), "place " + in_quotes(text), std::string(kPlaceForms),
                         std::move(found), std::move(hint)));
}

bool take_scheme(std::string_view& text, std::string_view scheme) {
  if (!text.starts_with(scheme)) return false;
  text.remove_prefix(scheme.size());
  return true;
}

Result<Place> parse_tcp_place(std::string_view text, std::string_view rest) {
  std::string_view host, port;
  if (rest.starts_with('[')) {
    const size_t closing = rest.find(']');
    if (closing == std::string_view::npos) return bad_place(text, "the bracket is not closed");
    host = rest.substr(1, closing - 1);
    port = rest.substr(closing + 1);
    if (!port.starts_with(':')) {
      return bad_place(text, "no port after the address", in_quotes(port),
                       "add \":\" and the port");
    }
    port.remove_prefix(1);
  } else {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) {
      return bad_place(text, "a place without a port", in_quotes(rest), "add \":\" and the port");
    }
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
    if (port.find(':') != std::string_view::npos) {
      return bad_place(text, "more than one colon", in_quotes(rest),
                       "an IPv6 address stands in brackets: [::1]:9000");
    }
  }
  if (host.empty()) {
    return bad_place(text, "a place without a host", "", "127.0.0.1 is this machine");
  }
  for (const char c : host) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || c == '/' || c == '@') {
      return bad_place(text, "not the name of a host", in_quotes(host));
    }
  }
  Place place;
  place.host = std::string(host);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return bad_place(text, "a port is a number from 0 to 65535", in_quotes(port));
  }
  return place;
}

}  // namespace

std::string Place::text() const {
  switch (kind) {
    case Kind::kUnix:
      return "unix:" + path;
    case Kind::kPipe:
      return "pipe:" + command;
    case Kind::kTcp:
      break;
  }
  const bool brackets = host.find(':') != std::string::npos;
  return std::string(tls ? "tls:" : "tcp:") + (brackets ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

Result<Place> parse_place(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return bad_place(text, "a place with a null character");
  }
  std::string_view rest = text;
  Place place;
  if (take_scheme(rest, "unix:")) {
    place.kind = Place::Kind::kUnix;
    place.path = std::string(rest);
    constexpr size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
    if (rest.empty()) return bad_place(text, "no path after \"unix:\"");
    if (rest.size() > kMost) {
      return bad_place(text, "the path is too long for a socket",
                       std::to_string(rest.size()) + " bytes, at most " + std::to_string(kMost),
                       "a path relative to the working folder is shorter");
    }
    return place;
  }
  if (take_scheme(rest, "pipe:")) {
    place.kind = Place::Kind::kPipe;
    place.command = std::string(rest);
    if (rest.find_first_not_of(" \t") == std::string_view::npos) {
      return bad_place(text, "no command after \"pipe:\"");
    }
    return place;
  }
  const bool tls = take_scheme(rest, "tls:");
  if (!tls) take_scheme(rest, "tcp:");
  TAPML_ASSIGN(place, parse_tcp_place(text, rest));
  place.tls = tls;
  return place;
}

}  // namespace tapml::rpc
