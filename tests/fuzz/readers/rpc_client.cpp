// The client's end of the protocol. The input is a server's replies: a sequence with drawn fields
// and correct sequence numbers (unless the input changes them), while the client always makes the
// same calls.
#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "finding.h"
#include "rpc/session/condition.h"
#include "rpc/session/remote_session.h"
#include "rpc/session/wire.h"
#include "runtime/capture.h"
#include "runtime/dispatch.h"
#include "runtime/timing.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

namespace wire = rpc::wire;
using flatbuffers::FlatBufferBuilder;

// Replies from the input; the connection is lost at its end.
class Answers final : public rpc::Channel {
 public:
  Answers(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  Status send(std::span<const std::byte> head, std::span<const std::byte>,
              runtime::Deadline) noexcept override {
    const auto* requests = rpc::verified<wire::Requests>(head);
    require(requests != nullptr, "the client sent no requests");
    const auto count = requests->list()->size();
    last_ = requests->first() + count - 1;
    const wire::Request& asked = *requests->list()->Get(count - 1);
    pinged_ = asked.body_as_Ping() != nullptr;
    const auto* call = asked.body_as_Call();
    if (call && call->dispatch()) lent_ = call->dispatch()->first();
    return {};
  }
  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline) noexcept override {
    if (size_ == 0) return fail(rpc::lost_error("the input is over"));
    FlatBufferBuilder b;
    payload_ = 0;
    if (!welcomed_) {
      welcomed_ = true;
      take(head, rpc::finish_reply(
                     b, ++replies_, 1,
                     wire::CreateWelcome(b, 1,
                                         rpc::kCapabilityVm | rpc::kCapabilityTrace |
                                             rpc::kCapabilityCapture | rpc::kCapabilityDispatch |
                                             rpc::kCapabilityTiming | rpc::kCapabilityRecall,
                                         rpc::put_device(b, {}), 1 << 20, 1 << 20)));
    } else if (pinged_) {
      pinged_ = false;
      take(head, rpc::finish_reply(b, ++replies_, last_, wire::CreatePong(b, number())));
    } else {
      draw(b, head);
    }
    payload_bytes = payload_;
    return {};
  }
  Status receive_payload(std::span<std::byte> to, runtime::Deadline) noexcept override {
    require(to.size() <= payload_, "more payload is taken than there is");
    payload_ -= to.size();
    std::memset(to.data(), 1, to.size());
    return {};
  }
  void close() noexcept override {}

 private:
  static void take(std::vector<std::byte>& head, std::span<const std::byte> bytes) {
    head.assign(bytes.begin(), bytes.end());
  }
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  int64_t number() {
    const uint8_t b = byte();
    return b == 255 ? INT64_MAX : b == 254 ? INT64_MIN : b == 253 ? -1 : b;
  }
  flatbuffers::Offset<wire::Value> value(FlatBufferBuilder& b, int depth) {
    const auto kind = static_cast<wire::ValueKind>(byte() % 8);
    std::vector<int64_t> integers(byte() % 4);
    for (int64_t& integer : integers) integer = number();
    std::vector<flatbuffers::Offset<wire::Value>> fields;
    if (depth < 60) {
      for (int i = byte() % 4; i > 0; --i) fields.push_back(value(b, depth + 1));
    }
    const uint8_t dtype = byte() % 16, buffer = byte() % 8;
    return wire::CreateValueDirect(b, kind, dtype, buffer, number(), &integers, &fields);
  }
  void draw(FlatBufferBuilder& b, std::vector<std::byte>& head) {
    const uint8_t type = byte();
    const uint8_t to = byte();
    const uint64_t sequence = type >= 250 ? number() : replies_ + 1;
    const uint64_t request = to < 200 ? last_ : to % 16;
    if (sequence == replies_ + 1) ++replies_;
    if (type >= 225 && type < 250) return draw_capture(b, head, sequence, request, type % 2 == 0);
    if (type >= 205 && type < 215) return draw_times(b, head, sequence, request);
    if (type >= 215 && type < 225) return draw_dispatched(b, head, sequence, request);
    switch (type % 7) {
      case 0:
        return take(head, rpc::finish_reply(b, sequence, request, wire::CreateDone(b)));
      case 1:
        return take(head, rpc::finish_reply(b, sequence, request,
                                            wire::CreateFailureDirect(b, byte(), byte(), "message",
                                                                      nullptr, "expected", nullptr,
                                                                      nullptr, byte() > 250)));
      case 2: {
        payload_ = static_cast<size_t>(std::clamp<int64_t>(number(), 0, 64)) * 4;
        const int64_t offset = number();
        return take(head, rpc::finish_reply(b, sequence, request,
                                            wire::CreateData(b, offset, byte() % 2 == 1)));
      }
      case 3: {
        std::vector<int64_t> sizes(byte() % 5);
        for (int64_t& bytes : sizes) bytes = number();
        const auto result = value(b, 0);
        return take(head, rpc::finish_reply(b, sequence, request,
                                            wire::CreateResultDirect(b, result, &sizes)));
      }
      case 4:
        return take(head, rpc::finish_reply(b, 0, 0, wire::CreateHeartbeat(b)));
      case 5:
        return take(head, rpc::finish_reply(b, sequence, request, wire::CreateWelcome(b, 1)));
      default: {
        head.clear();
        for (int i = byte(); i > 0; --i) head.push_back(static_cast<std::byte>(byte()));
        return;
      }
    }
  }

  void draw_times(FlatBufferBuilder& b, std::vector<std::byte>& head, uint64_t sequence,
                  uint64_t request) {
    std::vector<flatbuffers::Offset<wire::TimedCall>> calls;
    for (int i = byte() % 4; i > 0; --i) {
      const size_t count = byte() % 8 == 0 ? 0 : 1;
      const std::vector<int64_t> scalars(count, number());
      const auto site = static_cast<int32_t>(byte() % 8 == 0 ? number() : 0);
      const int64_t endpoint = number(), start = number();
      calls.push_back(wire::CreateTimedCallDirect(b, site, endpoint, &scalars, start, number()));
    }
    take(head, rpc::finish_reply(b, sequence, request, wire::CreateTimedDirect(b, &calls)));
  }
  // Over the few names that a call gives, and others.
  void draw_dispatched(FlatBufferBuilder& b, std::vector<std::byte>& head, uint64_t sequence,
                       uint64_t request) {
    const size_t count = byte() % 8 == 0 ? 0 : 1;
    const std::vector<int64_t> scalars(count, number());
    const auto name = [&] { return byte() % 8 == 0 ? byte() : lent_; };
    std::vector<int64_t> sizes(byte() % 3), shape = {number()};
    for (int64_t& bytes : sizes) bytes = number();
    std::vector<wire::Written> written;
    for (int i = byte() % 3; i > 0; --i) {
      const uint64_t buffer = name();
      const int64_t offset = number();
      written.emplace_back(buffer, offset, number());
    }
    std::vector<flatbuffers::Offset<wire::Value>> arguments;
    for (int i = byte() % 8 == 0 ? byte() % 3 : 1; i > 0; --i) {
      const uint8_t dtype = byte() % 8 == 0 ? byte() : static_cast<uint8_t>(DType::kU8);
      const uint64_t buffer = name();
      arguments.push_back(wire::CreateValueDirect(b, wire::ValueKind::Tensor, dtype, buffer,
                                                  byte() % 8 == 0 ? number() : 0, &shape));
    }
    const auto site = static_cast<int32_t>(byte() % 8 == 0 ? number() : 0);
    take(head, rpc::finish_reply(
                   b, sequence, request,
                   wire::CreateDispatchedDirect(b, site, &scalars, &arguments, &sizes, &written)));
  }

  // Zeros or ones, like payloads; few, colliding contents.
  void draw_capture(FlatBufferBuilder& b, std::vector<std::byte>& head, uint64_t sequence,
                    uint64_t request, bool content) {
    const auto digest_of = [](int64_t count) {
      const std::vector<uint8_t> ones(static_cast<size_t>(count), 1);
      const auto digest = *rpc::digest_of(
          content_hash(HostTensor::from<uint8_t>(DType::kU8, {count}, std::span(ones))));
      return std::vector<uint8_t>(digest.begin(), digest.end());
    };
    if (content) {
      const int64_t count = byte() % 8;
      auto hash = digest_of(count);
      if (byte() > 250) hash[3] ^= 1;
      payload_ = byte() % 8 == 0 ? byte() % 16 : static_cast<size_t>(count);
      const std::vector<int64_t> shape = {byte() < 250 ? count : number()};
      const uint8_t dtype = byte() < 250 ? static_cast<uint8_t>(DType::kU8) : byte();
      const int64_t offset = byte() < 200 ? 0 : number();
      return take(head, rpc::finish_reply(b, sequence, request,
                                          wire::CreateContentDirect(b, &hash, dtype, &shape, offset,
                                                                    byte() < 200)));
    }
    std::vector<int64_t> scalars(byte() % 3);
    std::vector<uint8_t> before(byte() % 3), after(byte() % 3), hashes;
    for (uint8_t& param : before) param = byte() % 5;
    for (uint8_t& param : after) param = byte() % 5;
    for (int i = byte() % 4; i > 0; --i) {
      const auto hash = digest_of(byte() % 8);
      hashes.insert(hashes.end(), hash.begin(), hash.end());
    }
    const auto site = static_cast<int32_t>(byte() % 3) - 1;
    const bool kept = byte() % 2 == 0;
    take(head, rpc::finish_reply(b, sequence, request,
                                 wire::CreateCapturedDirect(b, site, number(), &scalars, kept,
                                                            &before, &after, &hashes)));
  }

  const uint8_t* data_;
  size_t size_;
  bool welcomed_ = false;
  bool pinged_ = false;
  uint64_t replies_ = 0, last_ = 1, payload_ = 0;
  uint64_t lent_ = 0;  // the first name that the last call gave for dispatched calls
};

// Expects that everything it receives has been checked.
class Sink final : public runtime::CaptureSink {
 public:
  bool has(const std::string& hash) noexcept override { return given_.contains(hash); }
  Status content(const std::string& hash, const HostTensor& tensor, bool) noexcept override {
    require(content_hash(tensor) == hash, "a content that is not what its hash says");
    given_.insert(hash);
    return {};
  }
  Status call(runtime::CapturedCall call) noexcept override {
    require(call.site == 0 && call.before.size() == 1 && call.after.size() == 1 &&
                call.scalars.size() == 1,
            "a call that is none of the executable's");
    for (const auto& hash : {call.before[0], call.after[0]}) {
      require(hash.empty() != (call.kept && has(hash)), "a content that never came");
    }
    return {};
  }

 private:
  std::set<std::string> given_;
};

class Times final : public runtime::TimingSink {
 public:
  Status timed(const runtime::TimedCall& call) noexcept override {
    require(call.site == 0 && call.scalars.size() == 1 && call.duration >= 0,
            "a time of no call of the executable");
    return {};
  }
};

class Computer final : public runtime::Dispatcher {
 public:
  Status call(const runtime::CallSite& site, runtime::Arguments args,
              std::span<const int64_t> scalars) noexcept override {
    require(site.id == 0 && args.size() == 1 && scalars.size() == 1, "a call of no call site");
    const runtime::Tensor& tensor = args[0];
    require(tensor.dtype == DType::kU8 && tensor.offset >= 0 &&
                tensor.byte_size() <= tensor.storage->bytes() - tensor.offset,
            "a dispatched tensor outside of its storage");
    tensor.storage->written(tensor.offset, tensor.byte_size());
    return {};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using runtime::kDefaultStream;
  rpc::ConnectOptions options;
  auto session = rpc::RemoteSession::connect(std::make_unique<Answers>(data, size), options);
  if (!session) return 0;
  rpc::RemoteSession& remote = **session;
  Executable program;
  VmFunction main;
  main.name = "main";
  main.registers = 1;
  main.code = {{Opcode::kMakeShape, 0, 0, 0, {}}, {Opcode::kReturn, 0}};
  program.functions = {main};
  // A call site of a kernel without an implementation, for captures.
  program.kernels.push_back(
      {"k_00000000", {{"x", DType::kU8, AccessMode::kInOut, {ScalarProgram::slot(0)}}}, {"n"}, ""});
  program.call_sites = {{0, "main", {}}};
  Sink sink;
  auto vm = remote.open_vm(std::make_shared<const Executable>(program));
  auto tensor = runtime::make_tensor(remote, DType::kF32, {16});
  std::vector<std::byte> bytes(64);
  Times times;
  Computer computer;
  if (vm) static_cast<void>((*vm)->set_capture({}, &sink));
  // Interrupts late, so that a request has started.
  bool interrupts = false;
  int asked = 0;
  remote.set_interrupt([&] { return interrupts && ++asked % 2 == 0; });
  for (int i = 0; i < 8; ++i) {
    // An abandoned request may be answered later.
    runtime::Deadline deadline;
    if (i % 3 == 1) deadline = rpc::Clock::now() + std::chrono::microseconds(20);
    interrupts = i == 5;
    if (vm && i == 2) static_cast<void>((*vm)->set_dispatch({{0}}, &computer));
    if (vm && i == 4) static_cast<void>((*vm)->set_timing(&times));
    if (vm) {
      auto result = (*vm)->call("main", {}, deadline);
      if (result && result->tensor()) {
        const runtime::Tensor& made = *result->tensor();
        require(made.offset >= 0 && made.byte_size() <= made.storage->bytes() - made.offset,
                "a tensor outside of its storage");
      }
    }
    static_cast<void>(remote.synchronize(kDefaultStream, deadline));
    if (tensor) {
      static_cast<void>(
          remote.read(kDefaultStream, {tensor->storage->buffer(), 0}, bytes, deadline));
    }
  }
  return 0;
}
