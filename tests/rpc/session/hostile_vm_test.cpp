// What a server may send about the kernel calls of its VMs: times and dispatched calls.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "conformance/programs.h"
#include "raw_server.h"
#include "rpc/session/wire.h"
#include "runtime/dispatch.h"
#include "runtime/timing.h"
#include "support/expect_error.h"

namespace tapml::test {
namespace {

namespace wire = rpc::wire;
using flatbuffers::FlatBufferBuilder;
using testing::fault_of;

TEST(HostileVirtualMachine, InvalidTimes) {
  class Sink final : public runtime::TimingSink {
   public:
    Status timed(const runtime::TimedCall&) noexcept override {
      ++calls;
      return {};
    }
    int calls = 0;
  };
  Sink sink;
  auto timed = [&](int32_t site, std::vector<int64_t> scalars, int64_t duration,
                   bool asked = true) {
    RawServer server;
    auto session = server.open(rpc::kCapabilityVm | rpc::kCapabilityTrace | rpc::kCapabilityTiming);
    server.done(4);
    auto vm = session->open_vm(std::make_shared<const Executable>(chain_program(native_blob())));
    EXPECT_TRUE(vm);
    uint64_t call = 5;
    if (asked) {
      for (; call < 17; ++call) {
        server.reply(call, [](FlatBufferBuilder& b) { return wire::CreatePong(b, 7); });
      }
      EXPECT_TRUE((*vm)->set_timing(&sink));
    }
    server.reply(call, [&](FlatBufferBuilder& b) {
      const std::vector calls = {wire::CreateTimedCallDirect(b, site, 0, &scalars, 1, duration)};
      return wire::CreateTimedDirect(b, &calls);
    });
    server.reply(call, [](FlatBufferBuilder& b) {
      return wire::CreateResult(b, wire::CreateValue(b, wire::ValueKind::Nothing));
    });
    return fault_of((*vm)->call("main", {}));
  };
  EXPECT_EQ(timed(0, {2}, 5), PlatformFault::kNone);
  EXPECT_EQ(sink.calls, 1);
  EXPECT_EQ(timed(0, {2}, 5, false), PlatformFault::kProtocol) << "it was not requested";
  EXPECT_EQ(timed(-1, {2}, 5), PlatformFault::kProtocol);
  EXPECT_EQ(timed(3, {2}, 5), PlatformFault::kProtocol);
  EXPECT_EQ(timed(0, {}, 5), PlatformFault::kProtocol);
  EXPECT_EQ(timed(0, {2, 3}, 5), PlatformFault::kProtocol);
  EXPECT_EQ(timed(0, {2}, -5), PlatformFault::kProtocol);
  EXPECT_EQ(sink.calls, 1);
}

// What a server sends as a dispatched call; a valid call is answered, and its result follows.
PlatformFault dispatched(const std::function<flatbuffers::Offset<wire::Dispatched>(
                             FlatBufferBuilder&, uint64_t buffer, uint64_t lent)>& make,
                         int& calls, bool dispatches = true) {
  class Counter final : public runtime::Dispatcher {
   public:
    explicit Counter(int& calls) : calls_(calls) {}
    Status call(const runtime::CallSite& site, runtime::Arguments args,
                std::span<const int64_t> scalars) noexcept override {
      EXPECT_EQ(site.kernel->params.size(), args.size());
      EXPECT_EQ(site.kernel->scalars.size(), scalars.size());
      ++calls_;
      return {};
    }

   private:
    int& calls_;
  };
  RawServer server;
  auto session = server.open(rpc::kCapabilityVm | rpc::kCapabilityDispatch);
  server.done(4);
  auto vm = session->open_vm(std::make_shared<const Executable>(chain_program(native_blob())));
  EXPECT_TRUE(vm);
  Counter counter(calls);
  if (dispatches) {
    EXPECT_TRUE((*vm)->set_dispatch({{0, 1, 2}}, &counter));
  }
  auto buffer = runtime::Storage::allocate(*session, 16);
  EXPECT_TRUE(buffer);
  const runtime::Tensor tensor{*buffer, 0, DType::kF32, {2}};
  const std::vector<runtime::Value> args = {tensor, tensor};
  const uint64_t name = static_cast<uint64_t>(tensor.storage->buffer());
  const uint64_t lent = session->new_handle() + 1 + rpc::kMostNames;
  server.reply(6, [&](FlatBufferBuilder& b) { return make(b, name, lent); });
  server.reply(7, [](FlatBufferBuilder& b) {
    return wire::CreateResult(b, wire::CreateValue(b, wire::ValueKind::Nothing));
  });
  return fault_of((*vm)->call("main", args));
}

TEST(HostileVirtualMachine, InvalidDispatchedCalls) {
  struct Call {
    int32_t site = 0;
    std::vector<int64_t> scalars = {2};
    uint8_t dtype = static_cast<uint8_t>(DType::kF32);
    std::vector<int64_t> shape = {2}, lends = {8};
    size_t arguments = 3;
    uint64_t last = 0;  // name of the last argument's buffer; 0: the first lent one
    int64_t offset = 0;
    std::vector<std::array<int64_t, 3>> written;  // in the buffer of the arguments if 0
    auto make() const {
      return [*this](FlatBufferBuilder& b, uint64_t buffer, uint64_t lent) {
        std::vector<flatbuffers::Offset<wire::Value>> list;
        for (size_t i = 0; i < arguments; ++i) {
          const uint64_t name = i < 2 ? buffer : last > 0 ? last : lent;
          list.push_back(
              wire::CreateValueDirect(b, wire::ValueKind::Tensor, dtype, name, offset, &shape));
        }
        std::vector<wire::Written> ranges;
        for (const auto& [name, begin, size] : written) {
          ranges.emplace_back(name > 0 ? static_cast<uint64_t>(name) : buffer, begin, size);
        }
        return wire::CreateDispatchedDirect(b, site, &scalars, &list, &lends, &ranges);
      };
    }
  };
  int calls = 0;
  EXPECT_EQ(dispatched(Call{}.make(), calls), PlatformFault::kNone);
  EXPECT_EQ(dispatched(Call{.written = {{0, 0, 16}, {0, 8, 8}}}.make(), calls),
            PlatformFault::kNone);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(dispatched(Call{}.make(), calls, false), PlatformFault::kProtocol)
      << "it was not requested";
  const Call bad[] = {{.site = -1},
                      {.site = 3},
                      {.scalars = {}},
                      {.scalars = {1, 2}},
                      {.dtype = 200},
                      {.dtype = static_cast<uint8_t>(DType::kF64)},
                      {.shape = {-1}},
                      {.shape = {5}},
                      {.lends = {}},
                      {.lends = {-8}},
                      {.lends = {4}},
                      {.lends = std::vector<int64_t>(rpc::kMostNames + 1, 8)},
                      {.arguments = 2},
                      {.arguments = 4},
                      {.last = 12345},
                      {.offset = 12},
                      {.offset = -4},
                      {.written = {{12345, 0, 4}}},
                      {.written = {{0, 12, 8}}},
                      {.written = {{0, -4, 4}}},
                      {.written = {{0, 0, -4}}},
                      {.written = {{0, INT64_MAX, 8}}}};
  for (size_t i = 0; i < std::size(bad); ++i) {
    EXPECT_EQ(dispatched(bad[i].make(), calls), PlatformFault::kProtocol) << i;
  }
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace tapml::test
