// What a client may do to a server: frames that no correct client sends.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "raw_client.h"
#include "rpc/session/condition.h"
#include "rpc/session/wire.h"

namespace tapml::test {
namespace {

namespace wire = rpc::wire;
using namespace std::chrono_literals;
using flatbuffers::FlatBufferBuilder;

TEST(HostileClient, AnotherVersion) {
  RawClient client;
  client.hello("", 7, 9);
  client.expect_broken("version");
}

TEST(HostileClient, AVersionInCommonIsEnough) {
  RawClient client;
  client.hello("", 0, 99);
  ASSERT_EQ(client.next(), wire::Answer::Welcome);
  EXPECT_EQ(client.reply().answer_as_Welcome()->version(), rpc::kNewestVersion);
}

TEST(HostileClient, WrongTokens) {
  for (const char* token : {"", "a", "secreT", "secret ", "secretsecret"}) {
    rpc::ServerOptions options;
    options.token = "secret";
    RawClient client(options);
    client.hello(token, 7, 9);  // the token is checked first
    ASSERT_EQ(client.next(), wire::Answer::Failure) << token;
    EXPECT_EQ(client.failure().kind, ErrorKind::kUser) << token;
    EXPECT_EQ(client.failure().fault, PlatformFault::kUnauthorized) << token;
    EXPECT_FALSE(client.join());
  }
  rpc::ServerOptions options;
  options.token = "secret";
  RawClient client(options);
  client.hello("secret");
  EXPECT_EQ(client.next(), wire::Answer::Welcome);
}

TEST(HostileClient, NothingBeforeHello) {
  RawClient client;
  client.send(allocate(1, 4));
  client.expect_broken("no hello");
}

TEST(HostileClient, SilenceInsteadOfHello) {
  rpc::ServerOptions options;
  RawClient client(options);
  ASSERT_EQ(client.next(), wire::Answer::Failure);
  EXPECT_EQ(client.failure().fault, PlatformFault::kTimeout);
  EXPECT_FALSE(client.join());
}

TEST(HostileClient, ASecondHello) {
  RawClient client;
  client.open();
  client.hello();
  client.expect_broken("hello");
}

TEST(HostileClient, ReplayedAndReorderedFrames) {
  {
    RawClient client;
    client.open();
    client.send(allocate(1, 4));
    client.send(allocate(2, 4), {}, client.sent());
    client.expect_broken("replayed");
  }
  RawClient client;
  client.open();
  client.send(allocate(1, 4), {}, client.sent() + 2);
  client.expect_broken("reordered");
}

TEST(HostileClient, Garbage) {
  RandomStream random(1, "garbage");
  for (int round = 0; round < 50; ++round) {
    RawClient client;
    client.open();
    std::vector<std::byte> bytes(1 + static_cast<size_t>(random.below(200)));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    client.send_bytes(bytes);
    client.expect_broken("garbage");
  }
}

TEST(HostileClient, TruncatedMessages) {
  FlatBufferBuilder builder;
  const auto body = wire::CreateCopy(builder, 0, 1, 0, 2, 0, 8);
  const auto request = wire::CreateRequest(builder, wire::Body::Copy, body.Union());
  const auto list = builder.CreateVector(&request, 1);
  builder.Finish(wire::CreateRequests(builder, 2, list));
  const auto head = rpc::bytes_of(builder);
  for (size_t size = 1; size < head.size(); size += 7) {
    RawClient client;
    client.open();
    client.send_bytes(head.first(size));
    const wire::Answer answer = client.next();
    EXPECT_EQ(answer, wire::Answer::Failure) << size;
    EXPECT_EQ(client.failure().fault, PlatformFault::kProtocol) << size;
  }
}

TEST(HostileClient, FramesAboveTheLimits) {
  rpc::ServerOptions options;
  options.limits.payload_bytes = 1000;
  options.limits.head_bytes = 500;
  {
    RawClient client(options);
    client.open();
    client.send(allocate(1, 2000));
    client.send([](FlatBufferBuilder& builder) { return wire::CreateWrite(builder, 0, 1, 0); },
                std::vector<std::byte>(1001));
    client.expect_broken("payload");
  }
  RawClient client(options);
  client.open();
  client.send([](FlatBufferBuilder& builder) {
    const std::vector<uint8_t> bytes(600);
    return wire::CreateWriteDirect(builder, 0, 1, 0, &bytes);
  });
  client.expect_broken("head");
}

TEST(HostileClient, AnUnusedPayload) {
  RawClient client;
  client.open();
  client.send(allocate(1, 4), std::vector<std::byte>(16));
  client.expect_broken("payload");
  RawClient other;
  other.open();
  FlatBufferBuilder b;
  const std::vector<flatbuffers::Offset<wire::Request>> none;
  b.Finish(wire::CreateRequestsDirect(b, other.sent() + 1, &none));
  other.send_bytes(rpc::bytes_of(b), std::vector<std::byte>(16));
  other.expect_broken("a payload of no request");
}

TEST(HostileClient, TooDeepValues) {
  RawClient client;
  client.open();
  client.send([](FlatBufferBuilder& builder) {
    auto value = wire::CreateValue(builder, wire::ValueKind::Nothing);
    for (int i = 0; i < 100; ++i) {
      const std::vector<flatbuffers::Offset<wire::Value>> fields = {value};
      value = wire::CreateValueDirect(builder, wire::ValueKind::Tuple, 0, 0, 0, nullptr, &fields);
    }
    const std::vector<flatbuffers::Offset<wire::Value>> arguments = {value};
    return wire::CreateCallDirect(builder, 1, "main", &arguments, 1, 10);
  });
  client.expect_broken("depth");
}

TEST(HostileClient, KeptObjectsCountAsHandlesToTheEnd) {
  rpc::ServerOptions options;
  options.limits.handles = 64;
  RawClient client(options);
  client.open();
  auto release = [&](wire::HandleKind kind, uint64_t id) {
    client.send([=](FlatBufferBuilder& b) { return wire::CreateRelease(b, kind, id); });
  };
  // Buffers can be released, and so can names of failed objects.
  for (uint64_t id = 1; id <= 200; ++id) {
    client.send(allocate(id, 4));
    release(wire::HandleKind::Buffer, id);
    client.send([=](FlatBufferBuilder& b) { return wire::CreateGetKernel(b, id, 8); });
    client.expect_refused("no module 8");
    release(wire::HandleKind::Kernel, id);
  }
  client.synchronize();
  ASSERT_EQ(client.next(), wire::Answer::Done);
  // Events cannot.
  for (uint64_t id = 1; id <= 200; ++id) {
    client.send([=](FlatBufferBuilder& b) { return wire::CreateRecord(b, 0, id); });
    release(wire::HandleKind::Event, id);
  }
  client.synchronize();
  ASSERT_EQ(client.next(), wire::Answer::Failure);
  EXPECT_EQ(client.failure().fault, PlatformFault::kLimit) << client.failure().to_string();
}

TEST(HostileClient, EveryCancelReachesItsCall) {
  RawClient client;
  client.open();
  client.open_vm();
  std::vector<uint64_t> calls;
  for (int i = 0; i < 3; ++i) {
    client.send([](FlatBufferBuilder& b) { return wire::CreateCallDirect(b, 1, "spin"); });
    calls.push_back(client.sent());
  }
  // The oldest waiting calls: later requests must not displace them.
  for (const size_t call : {2, 1, 0}) {
    client.send([&](FlatBufferBuilder& b) { return wire::CreateCancel(b, calls[call]); });
  }
  for (const uint64_t call : calls) {
    ASSERT_EQ(client.next(), wire::Answer::Failure);
    EXPECT_EQ(client.reply().request(), call);
    EXPECT_EQ(client.failure().fault, PlatformFault::kCancelled) << client.failure().to_string();
  }
}

TEST(HostileClient, TimeoutsOfEverySize) {
  RawClient client;
  client.open();
  client.open_vm();
  auto synchronize = [&](int64_t timeout, int64_t own) {
    client.send([=](FlatBufferBuilder& b) { return wire::CreateSynchronize(b, 0, own); }, {}, 0,
                timeout);
    return client.next();
  };
  for (const int64_t none : {INT64_MIN, int64_t{-1}, INT64_MAX, (int64_t{1} << 60) + 1}) {
    EXPECT_EQ(synchronize(none, none), wire::Answer::Done) << none;
  }
  const std::pair<int64_t, int64_t> passed[] = {{0, -1}, {-1, 0}, {0, INT64_MAX}, {INT64_MAX, 0}};
  for (const auto& [timeout, own] : passed) {
    EXPECT_EQ(synchronize(timeout, own), wire::Answer::Failure) << timeout << " " << own;
    EXPECT_EQ(client.failure().fault, PlatformFault::kTimeout);
  }
  // An abandoned request is not started, and its inputs are still consumed.
  client.send([](FlatBufferBuilder& b) { return wire::CreateCallDirect(b, 1, "spin"); }, {}, 0, 0);
  ASSERT_EQ(client.next(), wire::Answer::Failure);
  EXPECT_EQ(client.failure().fault, PlatformFault::kTimeout);
  client.send([](FlatBufferBuilder& b) { return wire::CreateBeginBlob(b, 9, 0); });
  client.send([](FlatBufferBuilder& b) { return wire::CreateLoadModule(b, 9, 9); }, {}, 0, 0);
  ASSERT_EQ(client.next(), wire::Answer::Failure);
  EXPECT_EQ(client.failure().fault, PlatformFault::kTimeout);
  client.send([](FlatBufferBuilder& b) { return wire::CreateLoadModule(b, 9, 9); });
  ASSERT_EQ(client.next(), wire::Answer::Failure);
  EXPECT_NE(client.failure().to_string().find("no blob 9"), std::string::npos);
  // A request without an answer has no time limit and cannot be canceled.
  client.send(allocate(5, 16), {}, 0, 0);
  client.send([&](FlatBufferBuilder& b) { return wire::CreateCancel(b, client.sent() + 2); });
  client.send(allocate(6, 16));
  EXPECT_EQ(synchronize(-1, -1), wire::Answer::Done);
}

TEST(HostileClient, CapturesThatMakeNoSense) {
  RawClient client;
  client.open();
  client.open_vm();
  struct Drawn {
    bool anew;
    std::vector<int32_t> kernels;
    int64_t calls;
    std::vector<uint8_t> held, dropped;
  };
  auto call = [&](const Drawn& drawn) {
    client.send([&](FlatBufferBuilder& b) {
      const auto capture = wire::CreateCaptureDirect(b, drawn.anew, &drawn.kernels, drawn.calls,
                                                     &drawn.held, &drawn.dropped);
      const std::vector<flatbuffers::Offset<wire::Value>> none;
      return wire::CreateCallDirect(b, 1, "main", &none, 1, 1, false, 0, capture);
    });
    return client.next();
  };
  auto expect_refused = [&](const Drawn& drawn, const char* part) {
    ASSERT_EQ(call(drawn), wire::Answer::Failure) << part;
    EXPECT_FALSE(client.reply().answer_as_Failure()->fatal());
    EXPECT_NE(client.failure().to_string().find(part), std::string::npos)
        << client.failure().to_string();
  };
  expect_refused({false, {}, 0, {}, {}}, "before it began");
  expect_refused({true, {0}, 0, {}, {}}, "the executable lacks");
  expect_refused({true, {INT32_MIN}, 0, {}, {}}, "the executable lacks");
  expect_refused({true, {}, INT64_MIN, {}, {}}, "negative number of calls");
  expect_refused({true, {}, 0, std::vector<uint8_t>(31), {}}, "not SHA-256s");
  expect_refused({true, {}, 0, {}, std::vector<uint8_t>(33)}, "not SHA-256s");
  EXPECT_EQ(call({true, {}, INT64_MAX, std::vector<uint8_t>(3200), std::vector<uint8_t>(64)}),
            wire::Answer::Result);
  EXPECT_EQ(call({false, {}, 0, {}, {}}), wire::Answer::Result);
}

TEST(HostileClient, CancelsOfAnything) {
  RawClient client;
  client.open();
  auto cancel = [&](uint64_t id) {
    client.send([=](FlatBufferBuilder& b) { return wire::CreateCancel(b, id); });
  };
  for (const uint64_t id : {uint64_t{0}, uint64_t{1}, uint64_t{2}, ~uint64_t{0}}) cancel(id);
  for (uint64_t id = 0; id < 3000; ++id) cancel(id << 20);
  client.synchronize();
  EXPECT_EQ(client.next(), wire::Answer::Done);
}

TEST(HostileClient, ReleasesOfManyNames) {
  RawClient client;
  client.open();
  auto release = [&](wire::HandleKind kind, uint64_t id, uint32_t count) {
    client.send([=](FlatBufferBuilder& b) { return wire::CreateRelease(b, kind, id, count); });
  };
  for (const uint64_t id : {5, 7, 65'541, 65'542}) client.send(allocate(id, 16));
  release(wire::HandleKind::Buffer, 5, 0);
  release(wire::HandleKind::Buffer, 6, rpc::kMostNames);
  release(wire::HandleKind::Buffer, ~uint64_t{0} - 1, 2);
  release(wire::HandleKind::Stream, 0, 10);
  client.synchronize();
  EXPECT_EQ(client.next(), wire::Answer::Done);
  auto fill = [&](uint64_t id) {
    client.send([=](FlatBufferBuilder& b) { return wire::CreateFillZero(b, 0, id, 0, 16); });
  };
  fill(5);
  client.synchronize();
  EXPECT_EQ(client.next(), wire::Answer::Done);
  fill(7);
  client.expect_refused("no buffer 7");
  fill(65'541);
  client.expect_refused("no buffer 65541");
  fill(65'542);
  client.synchronize();
  EXPECT_EQ(client.next(), wire::Answer::Done);
  release(wire::HandleKind::Buffer, 1, rpc::kMostNames + 1);
  client.expect_refused("one may have 65536");
}

TEST(HostileClient, ASharedStringOrVectorIsCountedEachTime) {
  auto load = [](uint64_t id, int entries) {
    return [=](FlatBufferBuilder& b) {
      const auto entry = b.CreateString(std::string(4096, 'x'));
      const auto list =
          b.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>(entries, entry));
      return wire::CreateLoadModule(b, id, 1, b.CreateString("cpu"), b.CreateString("none"), list);
    };
  };
  auto call = [](int fields) {
    return [=](FlatBufferBuilder& b) {
      const std::vector<int64_t> dims(1000, 1);
      const auto shape = wire::CreateValueDirect(b, wire::ValueKind::Shape, 0, 0, 0, &dims);
      const std::vector<flatbuffers::Offset<wire::Value>> list(fields, shape);
      const std::vector<flatbuffers::Offset<wire::Value>> arguments = {
          wire::CreateValueDirect(b, wire::ValueKind::Tuple, 0, 0, 0, nullptr, &list)};
      return wire::CreateCallDirect(b, 1, "main", &arguments, 1, 10);
    };
  };
  auto begin_blob = [](RawClient& client, size_t bytes) {
    client.send([&](FlatBufferBuilder& b) {
      return wire::CreateBeginBlob(b, 1, static_cast<int64_t>(bytes));
    });
  };
  {
    RawClient client;
    client.open();
    begin_blob(client, 0);
    client.send(load(1, 1));
    ASSERT_EQ(client.next(), wire::Answer::Done);
    begin_blob(client, 0);
    client.send(load(2, 1000));
    client.expect_broken("entries");
  }
  {
    RawClient client;
    client.open();
    client.open_vm();
    client.send(call(1));
    ASSERT_EQ(client.next(), wire::Answer::Failure) << "main has no parameters";
    EXPECT_FALSE(client.reply().answer_as_Failure()->fatal());
    client.send(call(100));
    client.expect_broken("integers");
  }
  // Over all requests of a frame: the kept failure has the name.
  RawClient client;
  client.open();
  begin_blob(client, 0);
  client.send(load(1, 1));
  ASSERT_EQ(client.next(), wire::Answer::Done);
  FlatBufferBuilder b;
  const auto entry = b.CreateString(std::string(4096, 'x'));
  std::vector<flatbuffers::Offset<wire::Request>> list;
  for (uint64_t id = 1; id <= 100; ++id) {
    const auto body = wire::CreateGetKernel(b, id, 1, entry);
    list.push_back(wire::CreateRequest(b, wire::Body::GetKernel, body.Union()));
  }
  b.Finish(wire::CreateRequests(b, client.sent() + 1, b.CreateVector(list)));
  client.send_bytes(rpc::bytes_of(b));
  client.expect_broken("entries of several requests");
}

TEST(HostileClient, InvalidRequestsAreRefusedAndTheSessionContinues) {
  RawClient client;
  client.open();
  client.send(allocate(5, 16));
  client.send(allocate(5, 16));
  client.expect_refused("already has a buffer 5");
  client.send(allocate(6, -1));
  client.expect_refused("-1 bytes");
  client.send(allocate(uint64_t{1} << 63, 4));
  client.expect_refused("out of range");
  client.send([](FlatBufferBuilder& b) { return wire::CreateFillZero(b, 0, 77, 0, 4); });
  client.expect_refused("no buffer 77");
  client.send([](FlatBufferBuilder& b) { return wire::CreateFillZero(b, 9, 5, 0, 4); });
  client.expect_refused("no stream 9");
  for (int64_t offset : {int64_t{-1}, int64_t{13}, INT64_MAX, INT64_MIN}) {
    client.send([&](FlatBufferBuilder& b) { return wire::CreateFillZero(b, 0, 5, offset, 4); });
    client.expect_refused("outside of its buffer");
    client.send([&](FlatBufferBuilder& b) { return wire::CreateCopy(b, 0, 5, 0, 5, offset, 4); });
    client.expect_refused("outside of its buffer");
    client.send([&](FlatBufferBuilder& b) { return wire::CreateWrite(b, 0, 5, offset); },
                std::vector<std::byte>(4));
    client.expect_refused("outside of its buffer");
  }
  client.send([](FlatBufferBuilder& b) { return wire::CreateFillZero(b, 0, 5, 0, -4); });
  client.expect_refused("outside of its buffer");
  client.send([](FlatBufferBuilder& b) { return wire::CreateLaunch(b, 0, 3); });
  client.expect_refused("no kernel 3");
  client.send([](FlatBufferBuilder& b) { return wire::CreateGetKernel(b, 3, 8); });
  client.expect_refused("no module 8");
  client.send([](FlatBufferBuilder& b) { return wire::CreateWaitEvent(b, 0, 3); });
  client.expect_refused("no event 3");
  client.send([](FlatBufferBuilder& b) { return wire::CreateCreateStream(b, 0); });
  client.expect_refused("already has a stream 0");
  client.send([](FlatBufferBuilder& b) { return wire::CreateBeginBlob(b, 1, INT64_MAX); });
  client.expect_refused("blob");
  client.send([](FlatBufferBuilder& b) { return wire::CreateBeginBlob(b, 2, 3); });
  client.send([](FlatBufferBuilder& b) { return wire::CreateBlobPart(b, 2); },
              std::vector<std::byte>(4));
  client.expect_refused("more bytes");
  client.send([](FlatBufferBuilder& b) { return wire::CreateBlobPart(b, 99); },
              std::vector<std::byte>(4));
  client.expect_refused("no blob 99");
  for (const auto kind : wire::EnumValuesHandleKind()) {
    client.send([&](FlatBufferBuilder& b) { return wire::CreateRelease(b, kind, 12345); });
  }
  client.send([](FlatBufferBuilder& b) {
    return wire::CreateRelease(b, static_cast<wire::HandleKind>(99), 1);
  });
  client.send(
      [](FlatBufferBuilder& b) { return wire::CreateRelease(b, wire::HandleKind::Stream, 0); });
  client.send([](FlatBufferBuilder& b) { return wire::CreateCancel(b, 1); });
  client.synchronize();
  EXPECT_EQ(client.next(), wire::Answer::Done);
}

TEST(HostileClient, InvalidReadsAndCalls) {
  RawClient client;
  client.open();
  client.send(allocate(5, 16));
  auto refused = [&](const char* part) {
    ASSERT_EQ(client.next(), wire::Answer::Failure) << part;
    EXPECT_NE(client.failure().to_string().find(part), std::string::npos)
        << client.failure().to_string();
  };
  client.send([](FlatBufferBuilder& b) { return wire::CreateRead(b, 0, 5, 0, INT64_MAX); });
  refused("outside of its buffer");
  client.send([](FlatBufferBuilder& b) { return wire::CreateRead(b, 0, 6, 0, 4); });
  refused("no buffer 6");
  client.send([](FlatBufferBuilder& b) { return wire::CreateRead(b, 4, 5, 0, 4); });
  refused("no stream 4");
  client.send([](FlatBufferBuilder& b) { return wire::CreateCall(b, 4); });
  refused("no VM 4");
  client.send([](FlatBufferBuilder& b) { return wire::CreateBeginBlob(b, 1, 100); });
  client.send([](FlatBufferBuilder& b) { return wire::CreateBlobPart(b, 1); },
              std::vector<std::byte>(50));
  client.send([](FlatBufferBuilder& b) { return wire::CreateOpenVm(b, 4, 1); });
  refused("has only 50");
  client.send([](FlatBufferBuilder& b) { return wire::CreateBeginBlob(b, 1, 100); });
  client.send([](FlatBufferBuilder& b) { return wire::CreateBlobPart(b, 1); },
              std::vector<std::byte>(100));
  client.send([](FlatBufferBuilder& b) { return wire::CreateOpenVm(b, 4, 1); });
  refused("the executable sent");
  client.send([](FlatBufferBuilder& b) { return wire::CreateRead(b, 0, 5, 4, 0); });
  EXPECT_EQ(client.next(), wire::Answer::Done) << "nothing to read";
  client.close();
  EXPECT_TRUE(client.join()) << "a client that disconnects is not an error";
}

}  // namespace
}  // namespace tapml::test
