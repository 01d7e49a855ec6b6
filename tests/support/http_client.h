// A client of HTTP for tests, which sends what it is given and reads what comes.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "io/json.h"

namespace tapml::testing {

struct HttpReply {
  int status = 0;  // 0: the connection ended without an answer
  std::string head, body;

  Json json() const {
    auto parsed = parse_json(body, "reply");
    EXPECT_TRUE(parsed) << body;
    return parsed.value_or(Json::null());
  }
};

class HttpClient {
 public:
  explicit HttpClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets' interface
    is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;

  bool is_connected() const { return is_connected_; }
  int descriptor() const { return socket_; }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // Reads until `mark` has come (or, if it is empty, the end); what came after it stays for the
  // next call. Waits 20 seconds at most.
  std::string read_until(std::string_view mark) {
    for (;;) {
      const size_t at = mark.empty() ? std::string::npos : held_.find(mark);
      if (at != std::string::npos) {
        std::string text = held_.substr(0, at + mark.size());
        held_.erase(0, text.size());
        return text;
      }
      if (!read_more()) return std::exchange(held_, {});
    }
  }

  HttpReply read_reply(bool has_body = true) {
    HttpReply reply;
    reply.head = read_until("\r\n\r\n");
    if (!reply.head.starts_with("HTTP/1.")) return reply;
    reply.status = std::stoi(reply.head.substr(9, 3));
    if (!has_body) return reply;
    if (reply.head.contains("Transfer-Encoding: chunked")) {
      for (;;) {
        const std::string size = read_until("\r\n");
        const size_t bytes = size.empty() ? 0 : std::stoul(size, nullptr, 16);
        reply.body += read_bytes(bytes);
        read_until("\r\n");
        if (bytes == 0) return reply;
      }
    }
    const size_t length = reply.head.find("Content-Length: ");
    reply.body = length == std::string::npos
                     ? read_until("")
                     : read_bytes(std::stoul(reply.head.substr(length + 16)));
    return reply;
  }

  HttpReply ask(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& headers = "") {
    send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return read_reply(method != "HEAD");
  }
  HttpReply get(const std::string& path, const std::string& headers = "") {
    return ask("GET", path, "", headers);
  }
  HttpReply post(const std::string& path, const std::string& body,
                 const std::string& headers = "") {
    return ask("POST", path, body, headers);
  }

 private:
  bool read_more() {
    pollfd waiting = {socket_, POLLIN, 0};
    if (::poll(&waiting, 1, 20000) <= 0) return false;
    char bytes[4096];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    held_.append(bytes, static_cast<size_t>(count));
    return true;
  }
  std::string read_bytes(size_t count) {
    while (held_.size() < count && read_more()) {
    }
    std::string text = held_.substr(0, count);
    held_.erase(0, text.size());
    return text;
  }

  int socket_;
  bool is_connected_ = false;
  std::string held_;
};

}  // namespace tapml::testing
