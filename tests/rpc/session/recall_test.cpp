// Arguments that are unchanged since the previous call, and results that are arguments.
#include <gtest/gtest.h>

#include <limits>

#include "conformance/programs.h"
#include "native_device.h"
#include "raw_client.h"
#include "raw_server.h"
#include "rpc/session/argument_cache.h"
#include "rpc/session/storage_names.h"
#include "runtime/local_session.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

namespace wire = rpc::wire;
using flatbuffers::FlatBufferBuilder;
using runtime::Prim;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueList;
using testing::fault_of;

constexpr size_t kMany = 40;

// many(x0, ..., prim, shape) -> (x0, ..., fresh), whose last field has its own buffer.
Executable many_program() {
  Executable program = chain_program(native_blob());
  using Op = Opcode;
  VmFunction many;
  many.name = "many";
  Instruction tuple = {Op::kMakeTuple, static_cast<int32_t>(kMany), 0, 0, {}};
  for (size_t i = 0; i < kMany; ++i) {
    many.params.push_back("x" + std::to_string(i));
    tuple.list.push_back(static_cast<int32_t>(i));
  }
  many.registers = static_cast<int32_t>(kMany) + 1;
  many.code = {tuple, {Op::kReturn, static_cast<int32_t>(kMany)}};
  program.functions.push_back(std::move(many));
  return program;
}

class Recall : public ::testing::Test {
 protected:
  Recall() : server_(native_device()), session_(server_.connect()) {
    auto vm = session_->open_vm(share(many_program()));
    EXPECT_TRUE(vm) << vm.error().to_string();
    vm_ = std::move(*vm);
  }
  Tensor tensor(std::vector<float> values) {
    return *runtime::upload(*session_, f32(std::move(values)));
  }
  std::vector<Value> many() {
    std::vector<Value> args;
    for (size_t i = 0; i < kMany; ++i) args.emplace_back(tensor({static_cast<float>(i)}));
    return args;
  }
  // The number of bytes that the call sends.
  int64_t call(std::span<const Value> args, Result<Value>& result, const char* function = "many") {
    EXPECT_TRUE(session_->synchronize(runtime::kDefaultStream));
    const int64_t before = session_->traffic().bytes_sent;
    result = vm_->call(function, args);
    return session_->traffic().bytes_sent - before;
  }
  // The fields are the arguments themselves.
  static void expect_same(const Result<Value>& result, std::span<const Value> args) {
    ASSERT_TRUE(result) << result.error().to_string();
    const ValueList& fields = *result->tuple();
    ASSERT_EQ(fields.size(), args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      const Tensor *given = args[i].tensor(), *got = fields[i].tensor();
      if (!given) continue;
      ASSERT_TRUE(got) << i;
      EXPECT_EQ(got->storage, given->storage) << i;
      EXPECT_EQ(got->offset, given->offset) << i;
      EXPECT_EQ(got->dtype, given->dtype) << i;
      EXPECT_EQ(Shape(got->shape), Shape(given->shape)) << i;
    }
  }

  testing::MemoryServer server_;
  std::unique_ptr<rpc::RemoteSession> session_;
  std::unique_ptr<runtime::VirtualMachine> vm_;
};

TEST_F(Recall, UnchangedArgumentsAreNotSentAgain) {
  const std::vector<Value> args = many();
  Result<Value> result = Value();
  const int64_t first = call(args, result);
  expect_same(result, args);
  const int64_t again = call(args, result);
  expect_same(result, args);
  EXPECT_LT(again, first - static_cast<int64_t>(kMany) * 30);
  EXPECT_GT(again, 0);
  // All of them are one value of the message.
  EXPECT_LT(again, 200);
}

TEST_F(Recall, ChangedArgumentsAreSent) {
  std::vector<Value> args = many();
  Result<Value> result = Value();
  call(args, result);
  args[3] = tensor({33});
  call(args, result);
  expect_same(result, args);
  const Tensor part{tensor({1, 2, 3, 4}).storage, 4, DType::kI32, {1, 3}};
  args[4] = part;
  call(args, result);
  expect_same(result, args);
  for (const Tensor& other :
       {Tensor{part.storage, 0, DType::kI32, {1, 3}}, Tensor{part.storage, 0, DType::kF32, {1, 3}},
        Tensor{part.storage, 0, DType::kF32, {3, 1}}}) {
    args[4] = other;
    call(args, result);
    expect_same(result, args);
  }
  args[5] = Value(Prim{DType::kI64, 7});
  args[6] = Value(Shape{2, 3});
  for (int i = 0; i < 2; ++i) {
    call(args, result);
    expect_same(result, args);
    EXPECT_EQ(*(*result->tuple())[5].prim(), (Prim{DType::kI64, 7}));
    EXPECT_EQ(*(*result->tuple())[6].shape(), (Shape{2, 3}));
  }
  std::swap(args[0], args[1]);
  call(args, result);
  expect_same(result, args);
}

TEST_F(Recall, ManyDimensionsAreSentEachTime) {
  std::vector<Value> args = many();
  args[7] = Tensor{tensor({1}).storage, 0, DType::kF32, {1, 1, 1, 1, 1, 1, 1, 1}};
  for (int i = 0; i < 3; ++i) {
    Result<Value> result = Value();
    call(args, result);
    expect_same(result, args);
  }
}

// Neither side relies on what the other remembers of a failed call.
TEST_F(Recall, AfterAFailureEverythingIsSent) {
  const std::vector<Value> args = many();
  Result<Value> result = Value();
  const int64_t first = call(args, result);
  call(args, result);
  call(std::span(args).first(3), result);
  EXPECT_FALSE(result) << "too few arguments";
  const int64_t after = call(args, result);
  expect_same(result, args);
  EXPECT_GE(after, first - 100);
  EXPECT_LT(call(args, result), first / 2);
  expect_same(result, args);
}

TEST_F(Recall, FunctionsAreRememberedSeparately) {
  const std::vector<Value> args = many();
  Result<Value> result = Value();
  call(args, result);
  const std::vector<Value> pair = {tensor({1, 2}), tensor({10, 20})};
  const std::vector<float> expected = {63, 126};
  for (int i = 0; i < 3; ++i) {
    call(pair, result, "main");
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(floats(*runtime::download(*result->tensor())), expected);
    call(args, result);
    expect_same(result, args);
  }
}

// Names are never reused, but memory is: the storage identifies a remembered argument.
TEST_F(Recall, ReleasedTensorsAreNotRecalled) {
  std::vector<Value> args = many();
  Result<Value> result = Value();
  for (int i = 0; i < 20; ++i) {
    args[2] = tensor({static_cast<float>(i)});
    call(args, result);
    expect_same(result, args);
    EXPECT_EQ(floats(*runtime::download(*(*result->tuple())[2].tensor())),
              std::vector<float>{static_cast<float>(i)});
    result = Value();
    args[2] = {};
  }
}

// Arguments that a call can only read count as unchanged: copies of weights on other devices stay
// valid.
TEST_F(Recall, ReadOnlyArgumentsCountAsUnchanged) {
  Executable program = chain_program(native_blob());
  VmFunction scale;  // scale(x, y): y = 3 * y, in place
  scale.name = "scale";
  scale.params = {"x", "y"};
  scale.registers = 2;
  scale.programs = {constant(2), constant(3)};
  scale.code = {{Opcode::kCallKernel, 3, 0, 0, {1}, {0, 1}}, {Opcode::kReturn, 0}};
  program.call_sites.push_back({kScale, "scale", {}});
  program.functions.push_back(std::move(scale));
  auto vm = session_->open_vm(share(std::move(program)));
  ASSERT_TRUE(vm) << vm.error().to_string();
  const std::vector<Value> args = {tensor({1, 2}), tensor({10, 20})};
  const auto version = [&](size_t i) { return args[i].tensor()->storage->version(); };
  for (int i = 0; i < 2; ++i) {
    const uint64_t x = version(0), y = version(1);
    ASSERT_TRUE((*vm)->call("main", args));
    EXPECT_EQ(version(0), x);
    EXPECT_EQ(version(1), y);
    ASSERT_TRUE((*vm)->call("scale", args));
    EXPECT_EQ(version(0), x);
    EXPECT_NE(version(1), y);
  }
  EXPECT_EQ(floats(*runtime::download(*args[1].tensor())), (std::vector<float>{90, 180}));
}

// --- peers that break the rules ----------------------------------------------------------------

class RecallingClient : public RawClient {
 public:
  explicit RecallingClient(rpc::ServerOptions options = {}, uint64_t capabilities = 0)
      : RawClient(std::move(options)) {
    capabilities |= rpc::kCapabilityVm | rpc::kCapabilityRecall;
    send([=](FlatBufferBuilder& builder) {
      return wire::CreateHelloDirect(builder, "", 1, 1, capabilities, "cpu");
    });
    EXPECT_EQ(next(), wire::Answer::Welcome);
    EXPECT_TRUE(reply().answer_as_Welcome()->capabilities() & rpc::kCapabilityRecall);
    open_vm(chain_program(native_blob()));
    for (const uint64_t buffer : {1, 2}) {
      send([=](FlatBufferBuilder& b) { return wire::CreateAllocate(b, buffer, 8); });
    }
  }
  // main(x, y) with tensors in buffers as arguments, or Cached for 0, or a shape for -1. `further`:
  // further ones that a Cached stands for.
  wire::Answer call(std::vector<int> buffers, uint64_t after, const char* function = "main",
                    int64_t further = 0) {
    send([&](FlatBufferBuilder& b) {
      const std::vector<int64_t> shape = {2};
      std::vector<flatbuffers::Offset<wire::Value>> args;
      for (const int buffer : buffers) {
        if (buffer == 0) {
          args.push_back(wire::CreateValue(b, wire::ValueKind::Cached, 0, 0, further));
        } else if (buffer < 0) {
          args.push_back(wire::CreateValueDirect(b, wire::ValueKind::Shape, 0, 0, 0, &shape));
        } else {
          args.push_back(wire::CreateValueDirect(b, wire::ValueKind::Tensor,
                                                 static_cast<uint8_t>(DType::kF32),
                                                 static_cast<uint64_t>(buffer), 0, &shape));
        }
      }
      const auto list = b.CreateVector(args);
      flatbuffers::Offset<wire::Dispatch> dispatch;
      const std::vector<int32_t> sites = {0};
      if (dispatches_) dispatch = wire::CreateDispatchDirect(b, &sites, names_ += 10, 10);
      return wire::CreateCall(b, 1, b.CreateString(function), list, names_ += 10, 10, false, 0, 0,
                              dispatch, false, after);
    });
    return next();
  }
  // From now on, main's first kernel call is dispatched to the client.
  void dispatch() { dispatches_ = true; }
  void expect_failure(const char* part) {
    EXPECT_FALSE(reply().answer_as_Failure()->fatal()) << part;
    EXPECT_NE(failure().to_string().find(part), std::string::npos) << failure().to_string();
  }

 private:
  uint64_t names_ = 100;
  bool dispatches_ = false;
};

TEST(HostileRecall, WithoutAnEarlierCall) {
  RecallingClient client;
  ASSERT_EQ(client.call({0, 0}, 0), wire::Answer::Failure);
  client.expect_failure("argument 0 is marked as unchanged");
  ASSERT_EQ(client.call({0, 0}, 3), wire::Answer::Failure);
  client.expect_failure("argument 0 is marked as unchanged");
  ASSERT_EQ(client.call({1, 2}, 77), wire::Answer::Result) << "all is named";
  ASSERT_EQ(client.call({0, 0}, client.sent()), wire::Answer::Result);
  ASSERT_EQ(client.call({0, 2}, client.sent() - 1), wire::Answer::Failure) << "not the last one";
  ASSERT_EQ(client.call({0, 2}, client.sent() - 1), wire::Answer::Failure);
}

TEST(HostileRecall, OfMoreArgumentsThanBefore) {
  RecallingClient client;
  ASSERT_EQ(client.call({1, 2}, 0), wire::Answer::Result);
  ASSERT_EQ(client.call({0}, client.sent(), "main", 1), wire::Answer::Result) << "both at once";
  ASSERT_EQ(client.call({0}, client.sent(), "main", 2), wire::Answer::Failure);
  client.expect_failure("argument 2 is marked as unchanged");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t further : {int64_t{2}, int64_t{1} << 40, kMost}) {
    ASSERT_EQ(client.call({1, 2}, 0), wire::Answer::Result);
    ASSERT_EQ(client.call({1, 0}, client.sent(), "main", further), wire::Answer::Failure);
    client.expect_failure("argument 2 is marked as unchanged");
  }
  ASSERT_EQ(client.call({1, 2}, 0), wire::Answer::Result);
  ASSERT_EQ(client.call({0}, client.sent(), "main", -1), wire::Answer::Failure);
  client.expect_failure("number of unchanged arguments is negative");
  // Nothing is remembered of a failed call.
  ASSERT_EQ(client.call({0}, client.sent() - 1, "main", 1), wire::Answer::Failure);
  client.expect_failure("argument 0 is marked as unchanged");
}

TEST(HostileRecall, OfAnotherFunctionAndOfNone) {
  RecallingClient client;
  ASSERT_EQ(client.call({1, 2}, 0, "nothing"), wire::Answer::Failure);
  ASSERT_EQ(client.call({0, 0}, client.sent(), "nothing"), wire::Answer::Failure);
  client.expect_failure("argument 0 is marked as unchanged");
  ASSERT_EQ(client.call({1, 2}, 0), wire::Answer::Result);
  ASSERT_EQ(client.call({0, 0}, client.sent(), "nothing"), wire::Answer::Failure);
  client.expect_failure("argument 0 is marked as unchanged");
}

TEST(HostileRecall, OfAnArgumentThatWasNotATensor) {
  RecallingClient client;
  ASSERT_EQ(client.call({1, -1}, 0), wire::Answer::Failure) << "main takes tensors";
  ASSERT_EQ(client.call({1, 0}, client.sent()), wire::Answer::Failure);
  client.expect_failure("argument 1 is marked as unchanged, but it was not a tensor");
  ASSERT_EQ(client.call({1, 2}, 0), wire::Answer::Result);
  ASSERT_EQ(client.call({0, 0, 0}, client.sent()), wire::Answer::Failure);
  client.expect_failure("argument 2 is marked as unchanged");
}

TEST(HostileRecall, OfABufferThatWasReleased) {
  RecallingClient client;
  ASSERT_EQ(client.call({1, 2}, 0), wire::Answer::Result);
  const uint64_t called = client.sent();
  client.send(
      [](FlatBufferBuilder& b) { return wire::CreateRelease(b, wire::HandleKind::Buffer, 1); });
  ASSERT_EQ(client.call({0, 0}, called), wire::Answer::Failure);
  client.expect_failure("but its buffer was released");
  client.send([](FlatBufferBuilder& b) { return wire::CreateAllocate(b, 1, 8); });
  ASSERT_EQ(client.call({0, 0}, called), wire::Answer::Failure) << "another buffer of that name";
  ASSERT_EQ(client.call({1, 2}, 0), wire::Answer::Result);
}

// Remembered arguments keep no memory alive: the limit allows only one of the two buffers.
TEST(HostileRecall, ReleasedBuffersAreFree) {
  rpc::ServerOptions options;
  options.limits.memory_bytes = 3 << 20;
  RecallingClient client(options);
  for (uint64_t buffer = 10; buffer < 20; ++buffer) {
    client.send([=](FlatBufferBuilder& b) { return wire::CreateAllocate(b, buffer, 2 << 20); });
    ASSERT_EQ(client.call({static_cast<int>(buffer), 2}, 0), wire::Answer::Result)
        << client.failure().to_string();
    client.send([=](FlatBufferBuilder& b) {
      return wire::CreateRelease(b, wire::HandleKind::Buffer, buffer);
    });
  }
}

// The client releases an argument while the call is suspended at a dispatched kernel.
TEST(HostileRecall, OfABufferThatWasReleasedDuringTheCall) {
  RecallingClient client(rpc::ServerOptions(), rpc::kCapabilityDispatch);
  client.dispatch();
  ASSERT_EQ(client.call({1, 2}, 0), wire::Answer::Dispatched);
  const uint64_t called = client.sent();
  client.send(
      [](FlatBufferBuilder& b) { return wire::CreateRelease(b, wire::HandleKind::Buffer, 1); });
  client.send([](FlatBufferBuilder& b) { return wire::CreateAllocate(b, 1, 8); });
  client.send([](FlatBufferBuilder& b) { return wire::CreateResume(b, 1); });
  ASSERT_EQ(client.next(), wire::Answer::Result);
  ASSERT_EQ(client.call({0, 2}, called), wire::Answer::Failure);
  client.expect_failure("but its buffer was released");
}

TEST(HostileRecall, WithoutTheCapability) {
  RawClient client;
  client.open();
  client.open_vm(chain_program(native_blob()));
  client.send([](FlatBufferBuilder& b) {
    const std::vector args = {wire::CreateValue(b, wire::ValueKind::Cached)};
    return wire::CreateCall(b, 1, b.CreateString("main"), b.CreateVector(args), 100, 10);
  });
  ASSERT_EQ(client.next(), wire::Answer::Failure);
  EXPECT_EQ(client.failure().fault, PlatformFault::kProtocol);
}

// The server's description of the result of a call with a tensor and a scalar.
PlatformFault answered(wire::ValueKind kind, int64_t offset) {
  RawServer server;
  auto session = server.open(rpc::kCapabilityVm | rpc::kCapabilityRecall);
  server.done(4);
  auto vm = session->open_vm(std::make_shared<const Executable>(chain_program(native_blob())));
  EXPECT_TRUE(vm);
  auto buffer = runtime::Storage::allocate(*session, 16);
  EXPECT_TRUE(buffer);
  const std::vector<Value> args = {Tensor{*buffer, 0, DType::kF32, {2}},
                                   Value(Prim{DType::kI64, 7})};
  server.reply(6, [&](FlatBufferBuilder& b) {
    return wire::CreateResult(b, wire::CreateValue(b, kind, 0, 0, offset));
  });
  const auto result = (*vm)->call("main", args);
  if (result) {
    EXPECT_EQ(result->tensor()->storage, *buffer);
  }
  return fault_of(result);
}

TEST(HostileRecall, InvalidResults) {
  EXPECT_EQ(answered(wire::ValueKind::Argument, 0), PlatformFault::kNone);
  EXPECT_EQ(answered(wire::ValueKind::Argument, 1), PlatformFault::kProtocol) << "no tensor";
  EXPECT_EQ(answered(wire::ValueKind::Argument, 2), PlatformFault::kProtocol) << "no argument";
  EXPECT_EQ(answered(wire::ValueKind::Argument, -1), PlatformFault::kProtocol);
  EXPECT_EQ(answered(wire::ValueKind::Cached, 0), PlatformFault::kProtocol);
}

TEST(StorageNames, FewAndMany) {
  auto session = runtime::LocalSession::create(native_device());
  ASSERT_TRUE(session);
  std::vector<std::shared_ptr<runtime::Storage>> storages;
  rpc::StorageNames names;
  for (uint64_t i = 0; i < 600; ++i) {
    storages.push_back(*runtime::Storage::allocate(**session, 16));
    names.add(storages.back().get(), i);
    names.add(storages.back().get(), 1000 + i);  // a second name
    EXPECT_EQ(names.find(storages.front().get()), 0u);
    EXPECT_EQ(names.find(storages[i / 2].get()), i / 2);
    EXPECT_EQ(names.find(storages.back().get()), i);
  }
  EXPECT_EQ(names.find(nullptr), std::nullopt);
}

}  // namespace
}  // namespace tapml::test
