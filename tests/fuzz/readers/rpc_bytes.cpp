// Both ends of the protocol under arbitrary bytes, as from a socket: through frames, verifier and
// session. The first byte selects the end and the size of the pieces.
#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "device/null/null_device.h"
#include "finding.h"
#include "rpc/session/remote_session.h"
#include "rpc/session/server_session.h"
#include "rpc/transport/stream_channel.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

// Delivers the input in pieces and discards what is sent.
class Pieces final : public rpc::ByteStream {
 public:
  Pieces(const uint8_t* data, size_t size, size_t piece)
      : ByteStream("the input"), rest_(std::as_bytes(std::span(data, size))), piece_(piece) {}
  Result<size_t> read_some(std::span<std::byte> to, runtime::Deadline) noexcept override {
    require(!to.empty(), "a read of nothing");
    const size_t count = std::min({to.size(), piece_, rest_.size()});
    if (count > 0) std::memcpy(to.data(), rest_.data(), count);
    rest_ = rest_.subspan(count);
    return count;
  }
  Result<size_t> write_some(Parts parts, runtime::Deadline) noexcept override {
    size_t count = 0;
    for (const std::span<const std::byte> part : parts) count += part.size();
    require(count > 0, "a write of nothing");
    return std::min(count, piece_);
  }
  void close() noexcept override { closed_ = true; }

 private:
  std::span<const std::byte> rest_;
  size_t piece_;
};

constexpr std::array<size_t, 4> kPieces = {1, 7, 4096, 1 << 20};
constexpr rpc::ChannelLimits kLimits{1 << 16, 1 << 18};

void require_fault(const Status& status) {
  require(status || status.error().kind != ErrorKind::kInternal, "a fault of our own");
  require(status || !status.error().message.empty(), "an error without a message");
}

void serve(rpc::Channel& channel) {
  rpc::ServerOptions options;
  options.limits.memory_bytes = 1 << 20;
  options.limits.module_bytes = 1 << 16;
  options.limits.handles = 64;
  options.open_device = [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
    return std::make_shared<device::NullDevice>();
  };
  require_fault(rpc::serve_session_alone(channel, options));
}

void use(std::unique_ptr<rpc::Channel> channel) {
  auto session = rpc::RemoteSession::connect(std::move(channel), {});
  if (!session) return require_fault(fail(session.error()));
  const auto buffer = runtime::BufferId((*session)->new_handle());
  std::array<std::byte, 100> bytes = {};
  std::ignore = (*session)->allocate(buffer, 100);
  for (int i = 0; i < 4; ++i) {
    require_fault((*session)->synchronize(runtime::kDefaultStream));
    require_fault((*session)->read(runtime::kDefaultStream, {buffer, 0}, bytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  auto stream = std::make_unique<Pieces>(data + 1, size - 1, kPieces.at(data[0] / 2 % 4));
  auto channel = std::make_unique<rpc::StreamChannel>(std::move(stream), kLimits);
  if (data[0] % 2 == 0) {
    serve(*channel);
  } else {
    use(std::move(channel));
  }
  return 0;
}
