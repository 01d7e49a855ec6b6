#include "rpc/transport/tls_stream.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

#include "rpc/transport/socket.h"

namespace tapml::rpc {

namespace {

using Step = TlsConnection::Step;

// The size of one TLS record: the parts of a small frame are sent as one.
constexpr size_t kRecordBytes = size_t{16} << 10;

class TlsStream final : public ByteStream {
 public:
  TlsStream(FileDescriptor socket, std::unique_ptr<TlsConnection> connection, std::string peer)
      : ByteStream(std::move(peer)),
        socket_(std::move(socket)),
        connection_(std::move(connection)) {}
  ~TlsStream() override { TlsStream::close(); }

  Status shake_hands(runtime::Deadline deadline, const Interrupted& interrupted) noexcept {
    while (true) {
      const Step step = connection_->handshake();
      if (step == Step::kDone) return {};
      const bool waits = step == Step::kWantRead || step == Step::kWantWrite;
      Status ready = waits ? wait_socket(socket_.get(), step == Step::kWantWrite, deadline,
                                         interrupted, peer())
                           : fail(connection_->error());
      if (ready) continue;
      if (ready.error().fault == PlatformFault::kTimeout) {
        ready.error().message = "the TLS handshake did not end in time";
        ready.error().hint = "does the other side speak TLS?";
      }
      return ready;
    }
  }

  Result<size_t> read_some(std::span<std::byte> to, runtime::Deadline deadline) noexcept override {
    while (true) {
      if (closed_) return fail(lost("was closed"));
      size_t count = 0;
      const Step step = connection_->read(to, count);
      if (step == Step::kDone) return count;
      if (step == Step::kEnd) return size_t{0};
      TAPML_TRY(proceed(step, deadline));
    }
  }

  Result<size_t> write_some(Parts parts, runtime::Deadline deadline) noexcept override {
    size_t size = 0;
    for (const std::span<const std::byte> part : parts) {
      const size_t count = std::min(part.size(), record_.size() - size);
      std::memcpy(record_.data() + size, part.data(), count);
      size += count;
    }
    while (true) {
      if (closed_) return fail(lost("was closed"));
      size_t count = 0;
      const Step step = connection_->write(std::span(record_).first(size), count);
      if (step == Step::kDone) return count;
      TAPML_TRY(proceed(step, deadline));
    }
  }

  void close() noexcept override {
    if (closed_.exchange(true)) return;
    connection_->end();
    ::shutdown(socket_.get(), SHUT_RDWR);
  }

 private:
  // Waits as the step requires; its error if it requires nothing.
  Status proceed(Step step, runtime::Deadline deadline) noexcept {
    if (step == Step::kWantRead || step == Step::kWantWrite) {
      return wait(socket_.get(), step == Step::kWantWrite, -1, deadline);
    }
    return fail(closed_ ? lost("was closed") : connection_->error());
  }

  FileDescriptor socket_;
  std::unique_ptr<TlsConnection> connection_;
  std::array<std::byte, kRecordBytes> record_;  // for the writing thread
};

}  // namespace

Result<std::unique_ptr<ByteStream>> open_tls_stream(const TlsContext& context,
                                                    FileDescriptor socket, const std::string& host,
                                                    std::string peer, runtime::Deadline deadline,
                                                    const Interrupted& interrupted) noexcept {
  TAPML_ASSIGN(auto connection, TlsConnection::connect(context, socket.get(), host, peer));
  auto stream =
      std::make_unique<TlsStream>(std::move(socket), std::move(connection), std::move(peer));
  TAPML_TRY(stream->shake_hands(deadline, interrupted));
  return stream;
}

}  // namespace tapml::rpc
