// How a client begins a session.
#include <algorithm>

#include "rpc/session/client_session.h"

namespace tapml::rpc {

namespace {

constexpr uint64_t kClientCapabilities = kCapabilityVm | kCapabilityContent | kCapabilityTrace |
                                         kCapabilityCapture | kCapabilityDispatch |
                                         kCapabilityTiming | kCapabilityRecall;

uint64_t capabilities_of(const ConnectOptions& options) {
  return kClientCapabilities | (options.compressor ? kCapabilityZstd : 0);
}

// Sends hello and waits for the welcome, which points into `reply`.
Result<const wire::Welcome*> greet(ClientLink& link, ClientLink::Reply& reply,
                                   const ConnectOptions& options, bool status) {
  TAPML_TRY(link.call(
      [&](flatbuffers::FlatBufferBuilder& builder) {
        return wire::CreateHelloDirect(builder, options.token.c_str(), kOldestVersion,
                                       kNewestVersion, capabilities_of(options),
                                       options.target.c_str(), status);
      },
      reply, Clock::now() + options.handshake));
  const auto* welcome = reply.answer<wire::Welcome>();
  if (!welcome) return fail(protocol_error("the other side did not answer with a welcome"));
  if (welcome->version() < kOldestVersion || welcome->version() > kNewestVersion) {
    Error error = protocol_error("the other side speaks another version of the protocol");
    error.expected = std::to_string(kOldestVersion) + " to " + std::to_string(kNewestVersion);
    error.found = std::to_string(welcome->version());
    error.hint = "use the same release of tapml on both sides";
    return fail(std::move(error));
  }
  return welcome;
}

}  // namespace

Result<std::unique_ptr<RemoteSession>> RemoteSession::connect(
    std::unique_ptr<Channel> channel, const ConnectOptions& options) noexcept {
  auto link = std::make_unique<ClientLink>(std::move(channel), options);
  ClientLink::Reply reply;
  TAPML_ASSIGN(const wire::Welcome* welcome, greet(*link, reply, options, false));
  if (!welcome->device()) return fail(protocol_error("the welcome describes no device"));
  ClientSession::Peer peer;
  peer.device = get_device(*welcome->device());
  peer.capabilities = welcome->capabilities() & capabilities_of(options);
  peer.part_bytes = static_cast<size_t>(std::min<uint64_t>(welcome->payload_bytes(), kPartBytes));
  peer.module_bytes = welcome->module_bytes();
  if (peer.part_bytes == 0) {
    return fail(protocol_error("the other side accepts no payload"));
  }
  if ((peer.capabilities & kCapabilityZstd) != 0) link->enable_packing();
  return std::make_unique<ClientSession>(std::move(link), std::move(peer));
}

Result<std::string> query_status(Channel& channel, const ConnectOptions& options) noexcept {
  // Leaves the channel to the caller.
  class Borrowed final : public Channel {
   public:
    explicit Borrowed(Channel& channel) : channel_(channel) {}
    Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
                runtime::Deadline deadline) noexcept override {
      return channel_.send(head, payload, deadline);
    }
    Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                   runtime::Deadline deadline) noexcept override {
      return channel_.receive(head, payload_bytes, deadline);
    }
    Status receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept override {
      return channel_.receive_payload(to, deadline);
    }
    void close() noexcept override { channel_.close(); }

   private:
    Channel& channel_;
  };
  ClientLink link(std::make_unique<Borrowed>(channel), options);
  ClientLink::Reply reply;
  TAPML_ASSIGN(const wire::Welcome* welcome, greet(link, reply, options, true));
  return text_of(welcome->status());
}

}  // namespace tapml::rpc
