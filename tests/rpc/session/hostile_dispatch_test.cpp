// What a client may do to a VM whose kernel calls it computes.
#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "raw_client.h"
#include "rpc/session/wire.h"

namespace tapml::test {
namespace {

namespace wire = rpc::wire;
using flatbuffers::FlatBufferBuilder;

// A VM whose kernel calls are all dispatched to the client. The test computes none of them.
class DispatchingClient : public RawClient {
 public:
  DispatchingClient() {
    open();
    open_vm(chain_program(native_blob()));
    for (const uint64_t buffer : {1, 2}) send(allocate(buffer, 8));
  }
  auto call(uint64_t first = 100, uint32_t count = 10,
            const std::vector<int32_t>& sites = {0, 1, 2}) {
    return [=](FlatBufferBuilder& b) {
      const std::vector<int64_t> shape = {2};
      const uint8_t f32 = static_cast<uint8_t>(DType::kF32);
      std::vector<flatbuffers::Offset<wire::Value>> args;
      for (const uint64_t buffer : {1, 2}) {
        args.push_back(wire::CreateValueDirect(b, wire::ValueKind::Tensor, f32, buffer, 0, &shape));
      }
      const auto list = b.CreateVector(args);
      const auto name = b.CreateString("main");
      const auto plan = b.CreateVector(sites);
      const auto dispatch = wire::CreateDispatch(b, plan, first, count);
      return wire::CreateCall(b, 1, name, list, 1000, 10, false, 0, 0, dispatch);
    };
  }
  static auto resume(uint64_t vm = 1, bool abandoned = false) {
    return [=](FlatBufferBuilder& b) { return wire::CreateResume(b, vm, abandoned); };
  }
  void expect_stands(int32_t site) {
    ASSERT_EQ(next(), wire::Answer::Dispatched) << failure().to_string();
    EXPECT_EQ(reply().request(), sent());
    EXPECT_EQ(reply().answer_as_Dispatched()->site(), site);
  }
  void expect_failure(const char* part) {
    ASSERT_EQ(next(), wire::Answer::Failure) << part;
    EXPECT_FALSE(reply().answer_as_Failure()->fatal()) << part;
    EXPECT_NE(failure().to_string().find(part), std::string::npos) << failure().to_string();
  }
  void expect_free() {
    synchronize();
    ASSERT_EQ(next(), wire::Answer::Done);
    EXPECT_EQ(reply().request(), sent()) << "nothing else was answered";
  }
};

TEST(HostileDispatch, ContinuesACallThatIsNotSuspended) {
  DispatchingClient client;
  client.send(DispatchingClient::resume());
  client.expect_failure("is not suspended");
  client.send(DispatchingClient::resume(1, true));
  client.expect_free();
  client.send(client.call());
  client.expect_stands(0);
  client.send(DispatchingClient::resume(2));
  client.expect_failure("is not suspended");
  client.send(DispatchingClient::resume(2, true));
  client.send(client.call());
  client.expect_failure("another one is suspended");
  client.expect_free();
  client.send(DispatchingClient::resume());
  client.expect_stands(1);
  client.send(DispatchingClient::resume());
  client.expect_stands(2);
  client.send(DispatchingClient::resume());
  ASSERT_EQ(client.next(), wire::Answer::Result);
  client.send(DispatchingClient::resume());
  client.expect_failure("is not suspended");
}

TEST(HostileDispatch, LeavesAVirtualMachineSuspended) {
  {
    DispatchingClient client;
    client.send(client.call());
    client.expect_stands(0);
    client.send(DispatchingClient::resume(1, true));
    client.expect_free();
    client.send(client.call(200));
    client.expect_stands(0);
    // With everything that the suspended run uses.
    for (const uint64_t buffer : {1, 2, 200}) {
      client.send([=](FlatBufferBuilder& b) {
        return wire::CreateRelease(b, wire::HandleKind::Buffer, buffer);
      });
    }
    client.send([](FlatBufferBuilder& b) {
      return wire::CreateRelease(b, wire::HandleKind::VirtualMachine, 1);
    });
    client.expect_free();
  }
  DispatchingClient client;
  client.send(client.call());
  client.expect_stands(0);
  client.close();
  EXPECT_TRUE(client.join());
}

TEST(HostileDispatch, BreaksTheProtocolWhileAVirtualMachineIsSuspended) {
  DispatchingClient client;
  client.send(client.call());
  client.expect_stands(0);
  client.send(allocate(3, 4), {}, 1);
  client.expect_broken("a replayed frame");
}

TEST(HostileDispatch, InvalidDispatches) {
  DispatchingClient client;
  client.send(client.call(100, 10, {0, 3}));
  client.expect_failure("call site");
  client.send(client.call(100, 10, {-1}));
  client.expect_failure("call site");
  client.send(client.call(1));  // a name that is in use
  client.expect_failure("buffer");
  client.send(client.call(100, 0));
  client.expect_failure("0 that may be named");
  client.expect_free();
  // Requests after one that may continue later.
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Request>> list;
  const auto call = client.call()(builder);
  list.push_back(wire::CreateRequest(builder, wire::Body::Call, call.Union()));
  const auto fill = wire::CreateFillZero(builder, 0, 1, 0, 8);
  list.push_back(wire::CreateRequest(builder, wire::Body::FillZero, fill.Union()));
  const auto requests = builder.CreateVector(list);
  builder.Finish(wire::CreateRequests(builder, client.sent() + 1, requests));
  client.send_bytes(rpc::bytes_of(builder));
  client.expect_broken("not the last");
}

}  // namespace
}  // namespace tapml::test
