// The request of a message of HTTP. Only the tracker's sources and the harness of its fuzzer
// include it (Boost).
#pragma once

#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <string>

#include "tracker/request.h"

namespace tapml::tracker {

inline constexpr size_t kHeaderBytes = 8 << 10;  // most of a request

using Message = boost::beast::http::request<boost::beast::http::empty_body>;

inline Request request_of(const Message& message) {
  namespace http = boost::beast::http;
  const auto header = [&](http::field name) { return std::string(message[name]); };
  Request request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.host = header(http::field::host);
  request.origin = header(http::field::origin);
  request.authorization = header(http::field::authorization);
  request.is_websocket = boost::beast::websocket::is_upgrade(message);
  request.upgrades = header(http::field::upgrade) == "tapml";
  return request;
}

}  // namespace tapml::tracker
