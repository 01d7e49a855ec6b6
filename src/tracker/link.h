// A connection of a client or a device to the tracker, after its handshake: bytes in both
// directions, plain or as the messages of a WebSocket, encrypted or not. Only the tracker's
// sources include it (Boost).
#pragma once

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <memory>
#include <span>

namespace tapml::tracker {

inline constexpr auto kWait = boost::asio::as_tuple(boost::asio::use_awaitable);

// One coroutine may read while another writes. All on one thread.
class Link {
 public:
  using Bytes = std::span<char>;
  using View = std::span<const char>;
  virtual ~Link() = default;
  // Returns how many bytes were read; -1: the other side has ended its direction, or the
  // connection is lost.
  virtual boost::asio::awaitable<int64_t> read_some(Bytes to) = 0;
  // Writes all of them, as fast as the other side takes them. False: the connection is lost.
  virtual boost::asio::awaitable<bool> write(View bytes) = 0;
  // Ends this direction: what was written still arrives.
  virtual boost::asio::awaitable<void> finish() = 0;
  // Ends both directions; calls in progress return.
  virtual void close() = 0;
};

// `Stream`: a beast::tcp_stream, or an ssl_stream over one, without a time limit.
template <class Stream>
class PlainLink final : public Link {
 public:
  explicit PlainLink(Stream stream) : stream_(std::move(stream)) {
    boost::beast::get_lowest_layer(stream_).expires_never();
  }
  boost::asio::awaitable<int64_t> read_some(Bytes to) override {
    const auto [error, count] =
        co_await stream_.async_read_some(boost::asio::buffer(to.data(), to.size()), kWait);
    co_return error ? -1 : static_cast<int64_t>(count);
  }
  boost::asio::awaitable<bool> write(View bytes) override {
    const auto [error, count] = co_await boost::asio::async_write(
        stream_, boost::asio::buffer(bytes.data(), bytes.size()), kWait);
    co_return !error;
  }
  boost::asio::awaitable<void> finish() override {
    // The end of the connection is one of TLS as well: the other side waits for no more bytes.
    ::shutdown(boost::beast::get_lowest_layer(stream_).socket().native_handle(), SHUT_WR);
    co_return;
  }
  void close() override { boost::beast::get_lowest_layer(stream_).close(); }

 private:
  Stream stream_;
};

template <class Stream>
class WebSocketLink final : public Link {
 public:
  explicit WebSocketLink(std::unique_ptr<boost::beast::websocket::stream<Stream>> stream)
      : stream_(std::move(stream)) {
    stream_->binary(true);
    stream_->auto_fragment(false);
  }
  boost::asio::awaitable<int64_t> read_some(Bytes to) override {
    const auto [error, count] =
        co_await stream_->async_read_some(boost::asio::buffer(to.data(), to.size()), kWait);
    // Frames are bytes: a message of text is from something else.
    co_return error || stream_->got_text() ? -1 : static_cast<int64_t>(count);
  }
  boost::asio::awaitable<bool> write(View bytes) override {
    const auto [error, count] =
        co_await stream_->async_write(boost::asio::buffer(bytes.data(), bytes.size()), kWait);
    co_return !error;
  }
  boost::asio::awaitable<void> finish() override {
    co_await stream_->async_close(boost::beast::websocket::close_code::normal, kWait);
  }
  void close() override { boost::beast::get_lowest_layer(*stream_).close(); }

 private:
  std::unique_ptr<boost::beast::websocket::stream<Stream>> stream_;
};

}  // namespace tapml::tracker
