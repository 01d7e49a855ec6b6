#include "rpc/transport/tracker_link.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>

#include "base/printable.h"

namespace tapml::rpc {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostHeadBytes = 16 << 10;
constexpr size_t kMostBodyBytes = 16 << 20;
constexpr std::chrono::seconds kAnswer{10};
// A tracker repeats the place of a waiting client every five seconds.
constexpr std::chrono::seconds kSilence{20};
constexpr std::chrono::milliseconds kLook{50};  // how quickly an interrupt is noticed

struct Head {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  int64_t number(const std::string& name) const {
    int64_t value = 0;
    if (const auto found = fields.find(name); found != fields.end()) {
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
    }
    return value;
  }
};

class Conversation {
 public:
  Conversation(ByteStream& stream, const Interrupted& interrupted)
      : stream_(stream), interrupted_(interrupted) {}

  Status send(const std::string& request) noexcept {
    const auto until = Clock::now() + kAnswer;
    std::span<const std::byte> rest = std::as_bytes(std::span(request));
    while (!rest.empty()) {
      TAPML_ASSIGN(const size_t sent, stream_.write_some(std::span(&rest, 1), until));
      rest = rest.subspan(sent);
    }
    return {};
  }

  Result<Head> read_head(Clock::time_point until) noexcept {
    constexpr std::string_view kEnd = "\r\n\r\n";
    size_t end = 0;
    while ((end = bytes_.find(kEnd)) == std::string::npos) {
      if (bytes_.size() > kMostHeadBytes) return fail(not_a_tracker("a head that is too long"));
      TAPML_TRY(read_more(until));
    }
    const std::string text = bytes_.substr(0, end);
    bytes_.erase(0, end + kEnd.size());
    return parse(text);
  }

  Result<std::string> read_body(const Head& head, Clock::time_point until) noexcept {
    const int64_t size = head.number("content-length");
    if (size < 0 || static_cast<size_t>(size) > kMostBodyBytes) {
      return fail(not_a_tracker("a body that is too long"));
    }
    while (bytes_.size() < static_cast<size_t>(size)) TAPML_TRY(read_more(until));
    return bytes_.substr(0, static_cast<size_t>(size));
  }

  // The error of an answer that is none of success.
  Error refusal(const Head& head) noexcept {
    const auto body = read_body(head, Clock::now() + kAnswer);
    std::string message =
        body && !body->empty() ? printable_line(*body) : "status " + std::to_string(head.status);
    switch (head.status) {
      case 401: {
        Error error = user_error(std::move(message), stream_.peer(), "the tracker's token");
        error.fault = PlatformFault::kUnauthorized;
        return error;
      }
      case 400:
      case 403:
      case 404:
      case 405:
        return user_error(std::move(message), stream_.peer());
      case 503:
        return platform_error(PlatformFault::kLimit, std::move(message), stream_.peer());
      case 408:
      case 504:
        return platform_error(PlatformFault::kTimeout, std::move(message), stream_.peer());
      default:
        return platform_error(PlatformFault::kProtocol, std::move(message), stream_.peer());
    }
  }

  const std::string& rest() const { return bytes_; }
  Error not_a_tracker(const std::string& found) const {
    Error error = platform_error(PlatformFault::kProtocol, "the other side is not a tracker",
                                 stream_.peer(), "start one: tapml rpc tracker --listen HOST:PORT");
    error.found = found;
    return error;
  }

 private:
  Status read_more(Clock::time_point until) noexcept {
    std::byte bytes[4096];
    while (true) {
      if (interrupted_ && interrupted_()) {
        return fail(
            platform_error(PlatformFault::kCancelled, "waiting was interrupted", stream_.peer()));
      }
      const auto slice = std::min(until, Clock::now() + kLook);
      const auto count = stream_.read_some(bytes, slice);
      if (count && *count == 0) return fail(stream_.lost("ended: is it a tracker's?"));
      if (count) {
        bytes_.append(reinterpret_cast<const char*>(bytes), *count);
        return {};
      }
      if (count.error().fault != PlatformFault::kTimeout || Clock::now() >= until) {
        return fail(count.error());
      }
    }
  }

  Result<Head> parse(std::string_view text) const noexcept {
    constexpr std::string_view kVersion = "HTTP/1.1 ";
    Head head;
    if (!text.starts_with(kVersion) || text.size() < kVersion.size() + 3) {
      return fail(not_a_tracker("an answer that is not HTTP"));
    }
    const char* digits = text.data() + kVersion.size();
    const auto [end, error] = std::from_chars(digits, digits + 3, head.status);
    if (error != std::errc() || end != digits + 3) return fail(not_a_tracker("no status"));
    for (size_t at = text.find("\r\n"); at != std::string_view::npos;) {
      const size_t begin = at + 2;
      at = text.find("\r\n", begin);
      const std::string_view line =
          text.substr(begin, at == std::string_view::npos ? at : at - begin);
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      std::string name(line.substr(0, colon));
      for (char& c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      }
      const size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
      head.fields[name] = line.substr(value);
    }
    return head;
  }

  ByteStream& stream_;
  const Interrupted& interrupted_;
  std::string bytes_;
};

std::string request_text(const std::string& target, const Endpoint& endpoint,
                         const std::string& token, bool upgrade) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  std::string text = "GET " + target + " HTTP/1.1\r\nHost: " +
                     (brackets ? "[" + endpoint.host + "]" : endpoint.host) + ":" +
                     std::to_string(endpoint.port) + "\r\n";
  if (upgrade) text += "Connection: Upgrade\r\nUpgrade: tapml\r\n";
  if (!token.empty()) text += "Authorization: Bearer " + token + "\r\n";
  return text + "\r\n";
}

// A token goes into a line of HTTP.
Status check_token(const std::string& token) {
  const auto breaks = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  if (std::ranges::none_of(token, breaks)) return {};
  return fail(user_error("a token with control characters cannot be sent to a tracker", "token",
                         "printable characters"));
}

}  // namespace

Status take_lease(ByteStream& stream, const Endpoint& endpoint, const LeaseRequest& lease,
                  const Interrupted& interrupted) noexcept {
  TAPML_TRY(check_token(lease.token));
  Conversation tracker(stream, interrupted);
  TAPML_TRY(tracker.send(request_text("/lease?key=" + endpoint.key +
                                          "&priority=" + std::to_string(lease.priority) +
                                          "&wait=" + std::to_string(lease.wait.count()),
                                      endpoint, lease.token, true)));
  auto silent = kAnswer;
  LeasePlace shown;
  while (true) {
    TAPML_ASSIGN(const Head head, tracker.read_head(Clock::now() + silent));
    if (head.status == 102) {
      silent = kSilence;
      const LeasePlace place{head.number("tapml-place"), head.number("tapml-devices")};
      if (lease.waiting && (place.place != shown.place || place.devices != shown.devices)) {
        lease.waiting(place);
      }
      shown = place;
      continue;
    }
    if (head.status != 101) return fail(tracker.refusal(head));
    // The client speaks first.
    if (!tracker.rest().empty()) return fail(tracker.not_a_tracker("bytes before the session"));
    return {};
  }
}

Result<std::vector<std::byte>> register_device(ByteStream& stream, const Endpoint& endpoint,
                                               const std::string& token,
                                               const Interrupted& interrupted) noexcept {
  TAPML_TRY(check_token(token));
  Conversation tracker(stream, interrupted);
  TAPML_TRY(tracker.send(request_text("/device?key=" + endpoint.key, endpoint, token, true)));
  TAPML_ASSIGN(const Head head, tracker.read_head(Clock::now() + kAnswer));
  if (head.status != 101) return fail(tracker.refusal(head));
  const auto rest = std::as_bytes(std::span(tracker.rest()));
  return std::vector<std::byte>(rest.begin(), rest.end());
}

Result<std::string> ask_tracker_status(ByteStream& stream, const Endpoint& endpoint,
                                       const std::string& token,
                                       const Interrupted& interrupted) noexcept {
  TAPML_TRY(check_token(token));
  Conversation tracker(stream, interrupted);
  TAPML_TRY(tracker.send(request_text("/status", endpoint, token, false)));
  TAPML_ASSIGN(const Head head, tracker.read_head(Clock::now() + kAnswer));
  if (head.status != 200) return fail(tracker.refusal(head));
  return tracker.read_body(head, Clock::now() + kAnswer);
}

}  // namespace tapml::rpc
