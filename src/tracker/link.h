// A connection of a client or a device to the tracker, after its handshake: bytes in both
// directions, plain or as the messages of a WebSocket. Only the tracker's sources include it
// (Boost).
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <memory>
#include <span>
#include <string_view>

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
  // Shows the other side that this one lives, unless bytes are on their way, which show it too. For
  // links that can say something beside the bytes; false: the connection is lost.
  virtual boost::asio::awaitable<bool> give_sign() { co_return true; }
  // Ends this direction: what was written still arrives.
  virtual boost::asio::awaitable<void> finish() = 0;
  // Ends both directions; calls in progress return.
  virtual void close() = 0;
};

class PlainLink final : public Link {
 public:
  explicit PlainLink(boost::beast::tcp_stream stream) : stream_(std::move(stream)) {
    stream_.expires_never();
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
    boost::system::error_code ignored;
    stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
    co_return;
  }
  void close() override { stream_.close(); }

 private:
  boost::beast::tcp_stream stream_;
};

class WebSocketLink final : public Link {
 public:
  using Socket = boost::beast::websocket::stream<boost::beast::tcp_stream>;
  explicit WebSocketLink(std::unique_ptr<Socket> stream) : stream_(std::move(stream)) {
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
    while (writing_) {  // a sign of life
      boost::asio::steady_timer moment(stream_->get_executor(), std::chrono::milliseconds(1));
      co_await moment.async_wait(kWait);
    }
    writing_ = true;
    const auto [error, count] =
        co_await stream_->async_write(boost::asio::buffer(bytes.data(), bytes.size()), kWait);
    writing_ = false;
    co_return !error;
  }
  // A message of text is no part of the bytes.
  boost::asio::awaitable<bool> give_sign() override {
    static constexpr std::string_view kSign = "alive";
    if (writing_) co_return true;
    writing_ = true;
    stream_->text(true);
    const auto [error, count] =
        co_await stream_->async_write(boost::asio::buffer(kSign.data(), kSign.size()), kWait);
    stream_->binary(true);
    writing_ = false;
    co_return !error;
  }
  boost::asio::awaitable<void> finish() override {
    co_await stream_->async_close(boost::beast::websocket::close_code::normal, kWait);
  }
  void close() override { boost::beast::get_lowest_layer(*stream_).close(); }

 private:
  std::unique_ptr<Socket> stream_;
  bool writing_ = false;
};

}  // namespace tapml::tracker
