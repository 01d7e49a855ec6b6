#include "app/tokens.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/strings.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

constexpr size_t kMostFileBytes = size_t{1} << 20;
constexpr size_t kMostTokenBytes = 4096;
constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct Binding {
  std::string_view endpoint, token;
};

// "pipe:ssh board tapml rpc serve --stdio TOKEN": the token is the last word.
std::optional<Binding> split(std::string_view line) {
  const size_t blank = line.find_last_of(kBlanks);
  if (blank == std::string_view::npos) return {};
  return Binding{trimmed(line.substr(0, blank)), line.substr(blank + 1)};
}

// A form that is equal for two texts of one endpoint: host names ignore case, and a socket's path
// may be relative.
std::string comparable(const rpc::Endpoint& endpoint) {
  rpc::Endpoint same = endpoint;
  for (char& c : same.host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (same.kind == rpc::Endpoint::Kind::kUnix) {
    std::error_code ignored;
    const auto whole = std::filesystem::absolute(same.path, ignored);
    if (!ignored) same.path = whole.lexically_normal().string();
  }
  return same.text();
}

}  // namespace

Tokens Tokens::parse(std::string_view text, const std::string& name) {
  constexpr const char* kExpected = "one line with a token, or lines ENDPOINT TOKEN";
  constexpr const char* kHint =
      "for example: head -c 32 /dev/urandom | base64 > token; chmod 600 token";
  Tokens tokens;
  tokens.name_ = name;
  const std::vector<std::string_view> lines = lines_of(text);
  const auto filled = std::ranges::count_if(lines, [](auto line) { return !line.empty(); });
  if (filled == 0) throw_user("not a file with a token", name, kExpected, "nothing", kHint);
  const std::string_view first =
      *std::ranges::find_if(lines, [](auto line) { return !line.empty(); });
  const auto words = split(first);
  // A token may contain blanks unless it reads as a bound one.
  if (filled == 1 && !(words && rpc::parse_endpoint(words->endpoint))) {
    if (first.size() > kMostTokenBytes) {
      throw_user("a token is too long", name,
                 "at most " + std::to_string(kMostTokenBytes) + " bytes",
                 std::to_string(first.size()), kHint);
    }
    tokens.single_ = std::string(first);
    return tokens;
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].starts_with('#')) continue;
    const std::string where = name + ":" + std::to_string(i + 1);
    const auto binding = split(lines[i]);
    // Does not show the line: it may be a secret.
    if (!binding) {
      throw_user("not a file with a token", where, kExpected,
                 "one word, in a file of several lines", kHint);
    }
    auto endpoint = rpc::parse_endpoint(binding->endpoint);
    if (!endpoint) {
      throw_user("the line does not begin with an endpoint", where, endpoint.error().expected,
                 "something else, in a file of several lines", kHint);
    }
    if (binding->token.size() > kMostTokenBytes) {
      throw_user("a token is too long", where,
                 "at most " + std::to_string(kMostTokenBytes) + " bytes",
                 std::to_string(binding->token.size()), kHint);
    }
    const auto same = [&](const Bound& one) {
      return comparable(one.endpoint) == comparable(*endpoint);
    };
    if (std::ranges::any_of(tokens.bound_, same)) {
      throw_user("an endpoint has two tokens", where, "one line for each endpoint",
                 endpoint->text());
    }
    tokens.bound_.push_back({std::move(*endpoint), std::string(binding->token)});
  }
  if (tokens.bound_.empty()) {
    throw_user("not a file with a token", name, kExpected, "comments only", kHint);
  }
  return tokens;
}

Tokens Tokens::read(const std::string& file) {
  if (!file.empty()) return parse(unwrap(read_text_file(file, kMostFileBytes)), file);
  Tokens tokens;
  if (const char* token = std::getenv("TAPML_RPC_TOKEN")) tokens.single_ = token;
  return tokens;
}

std::string Tokens::of(const rpc::Endpoint& endpoint) const {
  if (bound_.empty()) return single_;
  std::string known;
  for (const Bound& one : bound_) {
    if (comparable(one.endpoint) == comparable(endpoint)) return one.token;
    known += (known.empty() ? "" : ", ") + one.endpoint.text();
  }
  throw_user("the file has no token for this endpoint", name_, known, endpoint.text(),
             "add a line: " + endpoint.text() + " TOKEN");
}

const std::string& Tokens::own() const {
  if (!bound_.empty()) {
    throw_user("a server has one token, and these are bound to endpoints", name_,
               "one line with a token", std::to_string(bound_.size()) + " lines ENDPOINT TOKEN");
  }
  return single_;
}

}  // namespace tapml::app
