// What a server may do to a client: replies that no correct server sends.
#include <gtest/gtest.h>

#include <functional>

#include "conformance/programs.h"
#include "raw_server.h"
#include "rpc/session/wire.h"
#include "runtime/capture.h"
#include "small_program.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

namespace wire = rpc::wire;
using namespace std::chrono_literals;
using flatbuffers::FlatBufferBuilder;
using runtime::BufferId;
using runtime::kDefaultStream;
using testing::fault_of;

TEST(HostileServer, AnotherVersion) {
  RawServer server;
  server.welcome(9);
  auto session = server.connect();
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().fault, PlatformFault::kProtocol);
  EXPECT_EQ(session.error().found, "9");
}

TEST(HostileServer, NoWelcome) {
  {
    RawServer server;
    auto session = server.connect();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().fault, PlatformFault::kTimeout);
  }
  {
    RawServer server;
    server.done(1);
    auto session = server.connect();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().fault, PlatformFault::kProtocol);
  }
  RawServer server;
  server.channel().close();
  auto session = server.connect();
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().fault, PlatformFault::kLost);
}

TEST(HostileServer, RepliesOutOfOrder) {
  for (uint64_t sequence : {uint64_t{1}, uint64_t{3}, ~uint64_t{0}}) {
    RawServer server;
    auto session = server.open();
    server.done(2, sequence);
    EXPECT_EQ(fault_of(session->synchronize(kDefaultStream)), PlatformFault::kProtocol);
    EXPECT_EQ(fault_of(session->synchronize(kDefaultStream)), PlatformFault::kProtocol);
  }
}

// The next frame of the client; `head` owns its contents.
const wire::Requests* next_frame(rpc::Channel& channel, std::vector<std::byte>& head) {
  uint64_t payload = 0;
  EXPECT_TRUE(channel.receive(head, payload, rpc::Clock::now() + 5s));
  std::vector<std::byte> bytes(payload);
  EXPECT_TRUE(channel.receive_payload(bytes, {}));
  return rpc::verified<wire::Requests>(head);
}

TEST(HostileServer, WhoDoesNotAnswerIsNotWaitedFor) {
  RawServer server;
  auto session = server.open(rpc::kCapabilityVm);
  server.done(4);  // a blob takes two requests and has no answer
  auto vm = session->open_vm(std::make_shared<const Executable>(small_program()));
  ASSERT_TRUE(vm) << vm.error().to_string();
  const auto start = rpc::Clock::now();
  auto called = (*vm)->call("main", {}, start + 80ms);
  EXPECT_EQ(fault_of(called), PlatformFault::kTimeout);
  EXPECT_LT(rpc::Clock::now() - start, 580ms);
  EXPECT_EQ(fault_of(session->synchronize(kDefaultStream, rpc::Clock::now() + 80ms)),
            PlatformFault::kTimeout);
  // The frames it received: deadlines and cancels.
  std::vector<std::byte> head;
  const wire::Requests* frame = nullptr;
  do {
    frame = next_frame(server.channel(), head);
    ASSERT_TRUE(frame);
  } while (frame->list()->Get(0)->body_type() != wire::Body::Call);
  const wire::Request& call = *frame->list()->Get(0);
  EXPECT_GT(call.timeout(), 0);
  EXPECT_LE(call.timeout(), 80'000'000);
  const uint64_t first = call.body_as_Call()->first();
  frame = next_frame(server.channel(), head);
  ASSERT_TRUE(frame && frame->list()->size() == 2);
  const auto* release = frame->list()->Get(0)->body_as_Release();
  ASSERT_TRUE(release);
  EXPECT_EQ(release->kind(), wire::HandleKind::Buffer);
  EXPECT_EQ(release->id(), first);
  EXPECT_EQ(release->count(), rpc::kMostNames);
  // Further replies to them are dropped.
  const auto result = [](FlatBufferBuilder& b) {
    const std::vector<int64_t> sizes = {4, -1};
    return wire::CreateResultDirect(b, wire::CreateValue(b, wire::ValueKind::Tensor, 77, 99, -5),
                                    &sizes);
  };
  const uint64_t id = frame->first() - 1;
  server.reply(id, result, std::vector<std::byte>(64));
  server.reply(
      id, [](FlatBufferBuilder& b) { return wire::CreateData(b, 5, true); },
      std::vector<std::byte>(64));
  server.done(id + 2);
  server.done(id + 3);
  EXPECT_TRUE(session->synchronize(kDefaultStream));
}

class Sink final : public runtime::CaptureSink {
 public:
  bool has(const std::string& hash) noexcept override { return given.contains(hash); }
  Status content(const std::string& hash, const HostTensor&, bool) noexcept override {
    given.insert(hash);
    return {};
  }
  Status call(runtime::CapturedCall) noexcept override {
    ++calls;
    return {};
  }
  std::set<std::string> given;
  int calls = 0;
};

// What a server sends before a result, with a valid capture in `send`.
PlatformFault capture(const std::function<void(RawServer&, uint64_t)>& send, Sink& sink,
                      bool captures = true) {
  RawServer server;
  auto session = server.open(rpc::kCapabilityVm | rpc::kCapabilityCapture);
  server.done(4);
  auto vm = session->open_vm(std::make_shared<const Executable>(chain_program(native_blob())));
  EXPECT_TRUE(vm);
  if (captures) {
    EXPECT_TRUE((*vm)->set_capture({}, &sink));
  }
  send(server, 5);
  server.reply(5, [](FlatBufferBuilder& b) {
    return wire::CreateResult(b, wire::CreateValue(b, wire::ValueKind::Nothing));
  });
  return fault_of((*vm)->call("main", {}));
}

TEST(HostileServer, CapturesThatMakeNoSense) {
  const std::vector<int64_t> shape = {2};
  const HostTensor tensor = HostTensor::zeros(DType::kF32, {2});
  const Sha256Digest digest = *rpc::digest_of(content_hash(tensor));
  const std::vector<uint8_t> hash(digest.begin(), digest.end());
  std::vector<uint8_t> hashes;  // of two inputs and an output
  for (int i = 0; i < 3; ++i) hashes.insert(hashes.end(), hash.begin(), hash.end());
  auto content = [&](std::vector<uint8_t> name, uint8_t dtype, std::vector<int64_t> dims,
                     int64_t offset, bool last, size_t bytes, uint64_t unpacked = 0) {
    return [=](RawServer& server, uint64_t id) {
      server.reply(
          id,
          [&](FlatBufferBuilder& b) {
            return wire::CreateContentDirect(b, &name, dtype, &dims, offset, last, unpacked);
          },
          std::vector<std::byte>(bytes));
    };
  };
  auto called = [&](int32_t site, std::vector<int64_t> scalars, bool kept,
                    std::vector<uint8_t> before, std::vector<uint8_t> after,
                    std::vector<uint8_t> names) {
    return [=](RawServer& server, uint64_t id) {
      server.reply(id, [&](FlatBufferBuilder& b) {
        return wire::CreateCapturedDirect(b, site, 0, &scalars, kept, &before, &after, &names);
      });
    };
  };
  const uint8_t f32 = static_cast<uint8_t>(DType::kF32);
  const auto good = content(hash, f32, shape, 0, true, 8);
  const auto good_call = called(0, {2}, true, {1, 1, 0}, {0, 0, 3}, hashes);
  Sink sink;
  EXPECT_EQ(capture([&](RawServer& s, uint64_t id) { good(s, id), good_call(s, id); }, sink),
            PlatformFault::kNone);
  EXPECT_EQ(sink.calls, 1);
  EXPECT_EQ(sink.given.size(), 1U);
  EXPECT_EQ(capture(good, sink, false), PlatformFault::kProtocol) << "it was not requested";
  const std::function<void(RawServer&, uint64_t)> bad[] = {
      content({1, 2}, f32, shape, 0, true, 8),
      content(std::vector<uint8_t>(32), f32, shape, 0, true, 8),
      content(hash, 200, shape, 0, true, 8),
      content(hash, f32, {-2}, 0, true, 8),
      content(hash, f32, {INT64_MAX, INT64_MAX}, 0, false, 8),
      content(hash, f32, std::vector<int64_t>(100, 1), 0, true, 4),
      content(hash, f32, shape, 4, true, 4),
      content(hash, f32, shape, 0, false, 8),
      content(hash, f32, shape, 0, true, 4),
      content(hash, f32, shape, 0, false, 0),
      content(hash, f32, shape, 0, true, 16),
      content(hash, f32, shape, 0, true, 4, 8),
      called(0, {2}, true, {1, 1, 0}, {0, 0, 1}, hashes),  // which was never sent
      [&](RawServer& s, uint64_t id) {
        content(hash, f32, shape, 0, false, 4)(s, id);
        called(0, {2}, false, {0, 0, 0}, {0, 0, 0}, {})(s, id);
      },
      [&](RawServer& s, uint64_t id) {
        good(s, id);
        called(0, {2}, true, {1, 1, 1}, {0, 0, 0}, hashes)(s, id);
      },
      [&](RawServer& s, uint64_t id) {
        good(s, id);
        called(0, {2}, true, {1, 1, 0}, {0, 0, 1}, hash)(s, id);
      },
      called(-1, {2}, false, {0, 0, 0}, {0, 0, 0}, {}),
      called(99, {2}, false, {0, 0, 0}, {0, 0, 0}, {}),
      called(0, {2}, false, {0, 0}, {0, 0, 0}, {}),
      called(0, {2}, false, {0, 0, 0}, {}, {}),
      called(0, {}, false, {0, 0, 0}, {0, 0, 0}, {}),
      called(0, {2}, false, {0, 0, 0}, {0, 0, 0}, {1, 2, 3}),
  };
  for (size_t i = 0; i < std::size(bad); ++i) {
    Sink fresh;
    EXPECT_EQ(capture(bad[i], fresh), PlatformFault::kProtocol) << i;
    EXPECT_EQ(fresh.calls, 0) << i;
  }
}

TEST(HostileServer, InvalidPackedParts) {
  for (const uint64_t unpacked : {uint64_t{8}, uint64_t{16}, uint64_t{1} << 40, ~uint64_t{0}}) {
    RawServer server;
    auto session = server.open();
    const BufferId id{session->new_handle()};
    ASSERT_TRUE(session->allocate(id, 16));
    std::vector<std::byte> bytes(16);
    server.reply(
        3, [&](FlatBufferBuilder& b) { return wire::CreateData(b, 0, true, unpacked); },
        std::vector<std::byte>(12));
    EXPECT_EQ(fault_of(session->read(kDefaultStream, {id, 0}, bytes)), PlatformFault::kProtocol);
  }
}

TEST(HostileServer, AnInvalidTrace) {
  RawServer server;
  auto session = server.open();
  // Without the capability, no trace is requested.
  EXPECT_TRUE(session->start_trace());
  EXPECT_TRUE(session->take_trace()->empty());
}

TEST(HostileServer, InvalidClocks) {
  RawServer server;
  auto session = server.open(rpc::kCapabilityTrace);
  uint64_t request = 1;
  auto pongs = [&](int64_t time) {
    for (int i = 0; i < 12; ++i) {
      server.reply(++request, [=](FlatBufferBuilder& b) { return wire::CreatePong(b, time); });
    }
  };
  const std::vector<int64_t> times = {INT64_MIN, 0, INT64_MAX / 2, INT64_MAX};
  pongs(INT64_MIN / 2);
  ASSERT_TRUE(session->start_trace());
  ++request;
  pongs(INT64_MAX);  // a larger difference than an integer holds
  server.reply(++request, [&](FlatBufferBuilder& b) {
    const std::vector<flatbuffers::Offset<flatbuffers::String>> names = {b.CreateString("k")};
    std::vector<wire::Event> list;
    for (int64_t time : times) list.emplace_back(time, 1, 0, 0, 0);
    return wire::CreateEventsDirect(b, &names, &list, false);
  });
  auto events = session->take_trace();
  ASSERT_TRUE(events) << events.error().to_string();
  std::erase_if(*events, [](const runtime::TraceEvent& event) { return !event.remote; });
  ASSERT_EQ(events->size(), times.size());
  for (size_t i = 1; i < times.size(); ++i) EXPECT_LE((*events)[i - 1].start, (*events)[i].start);
}

TEST(HostileServer, ATraceThatGrowsWithoutBound) {
  RawServer server;
  auto session = server.open(rpc::kCapabilityTrace);
  constexpr uint64_t kPings = 12;
  uint64_t request = 1;
  auto pong = [&] {
    for (uint64_t i = 0; i < kPings; ++i) {
      server.reply(++request, [](FlatBufferBuilder& b) { return wire::CreatePong(b, 1); });
    }
  };
  pong();
  ASSERT_TRUE(session->start_trace());
  ++request;
  pong();
  // 300 MB of names from half a megabyte, and more to come.
  server.reply(++request, [](FlatBufferBuilder& b) {
    const std::vector<flatbuffers::Offset<flatbuffers::String>> names = {
        b.CreateString(std::string(300 << 10, 'x'))};
    const std::vector<wire::Event> list(1024, wire::Event(0, 1, 0, 0, 0));
    return wire::CreateEventsDirect(b, &names, &list, true);
  });
  EXPECT_EQ(fault_of(session->take_trace()), PlatformFault::kProtocol);
}

TEST(HostileServer, RepliesToNothing) {
  for (uint64_t request : {uint64_t{0}, uint64_t{99}}) {
    RawServer server;
    auto session = server.open();
    server.done(request);
    EXPECT_EQ(fault_of(session->synchronize(kDefaultStream)), PlatformFault::kProtocol);
  }
}

TEST(HostileServer, Garbage) {
  RawServer server;
  auto session = server.open();
  const std::vector<std::byte> bytes(40, std::byte{0x5a});
  ASSERT_TRUE(server.channel().send(bytes, {}));
  EXPECT_EQ(fault_of(session->synchronize(kDefaultStream)), PlatformFault::kProtocol);
}

TEST(HostileServer, DataThatDoesNotFit) {
  struct Case {
    int64_t offset;
    bool last;
    size_t payload;
  };
  for (const Case& c : {Case{0, true, 17}, Case{0, true, 8}, Case{0, false, 16}, Case{4, true, 12},
                        Case{-1, true, 16}, Case{0, true, size_t{1} << 24}}) {
    RawServer server;
    auto session = server.open();
    const BufferId id{7};
    ASSERT_TRUE(session->allocate(id, 16));
    server.reply(
        3, [&](FlatBufferBuilder& b) { return wire::CreateData(b, c.offset, c.last); },
        std::vector<std::byte>(c.payload));
    std::vector<std::byte> bytes(16, std::byte{1});
    EXPECT_EQ(fault_of(session->read(kDefaultStream, {id, 0}, bytes)), PlatformFault::kProtocol)
        << c.payload;
    EXPECT_EQ(bytes, std::vector<std::byte>(16, std::byte{1}));
  }
  RawServer server;
  auto session = server.open();
  ASSERT_TRUE(session->allocate(BufferId{7}, 16));
  server.done(3);
  std::vector<std::byte> bytes(16);
  EXPECT_EQ(fault_of(session->read(kDefaultStream, {BufferId{7}, 0}, bytes)),
            PlatformFault::kProtocol);
}

TEST(HostileServer, AFailureEndsTheSessionWheneverItComes) {
  const Error crash = platform_error(PlatformFault::kLost, "the process was ended by signal 11");
  {
    RawServer server;
    ASSERT_TRUE(server.channel().send(rpc::encode_failure(crash), {}));
    auto session = server.connect();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().message, crash.message);
  }
  RawServer server;
  auto session = server.open();
  ASSERT_TRUE(server.channel().send(rpc::encode_failure(crash), {}));
  server.channel().close();
  Status status = session->synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, crash.message);
}

TEST(HostileServer, UnknownNumbersInFailures) {
  RawServer server;
  auto session = server.open();
  server.reply(2, [](FlatBufferBuilder& b) { return wire::CreateFailure(b, 77, 99); });
  Status status = session->synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kInternal);
  server.reply(3, [](FlatBufferBuilder& b) { return wire::CreateFailure(b, 1, 99); });
  EXPECT_EQ(fault_of(session->synchronize(kDefaultStream)), PlatformFault::kProtocol);
  server.done(4);
  EXPECT_TRUE(session->synchronize(kDefaultStream));
}

TEST(HostileServer, AFaultMatchesItsKind) {
  struct Case {
    ErrorKind kind;
    PlatformFault fault, taken;
  };
  using enum PlatformFault;
  RawServer server;
  auto session = server.open();
  uint64_t request = 1;
  for (const Case& c :
       {Case{ErrorKind::kPlatform, kCrash, kCrash},
        Case{ErrorKind::kUser, kUnauthorized, kUnauthorized},
        Case{ErrorKind::kUser, kTimeout, kNone}, Case{ErrorKind::kUser, kCompile, kNone},
        Case{ErrorKind::kInternal, kCompile, kCompile}, Case{ErrorKind::kInternal, kLost, kNone}}) {
    server.reply(++request, [&](FlatBufferBuilder& b) {
      return wire::CreateFailure(b, static_cast<uint8_t>(c.kind), static_cast<uint8_t>(c.fault));
    });
    Status status = session->synchronize(kDefaultStream);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, c.kind);
    EXPECT_EQ(status.error().fault, c.taken) << platform_fault_name(c.fault);
  }
}

// Whether a call accepts this value as its result, over one new buffer of 8 bytes.
bool call_answered(
    const std::function<flatbuffers::Offset<wire::Value>(FlatBufferBuilder&, uint64_t)>& value) {
  RawServer server;
  auto session = server.open();
  server.done(4);  // after a blob in one part
  auto vm = session->open_vm(std::make_shared<const Executable>(small_program()));
  EXPECT_TRUE(vm) << vm.error().to_string();
  if (!vm) return false;
  const uint64_t first = session->new_handle() + 1;  // the call uses the names after it
  server.reply(5, [&](FlatBufferBuilder& b) {
    const std::vector<int64_t> buffers = {8};
    const auto offset = value(b, first);
    return wire::CreateResultDirect(b, offset, &buffers);
  });
  auto result = (*vm)->call("main", {});
  if (!result) {
    EXPECT_EQ(result.error().fault, PlatformFault::kProtocol);
  }
  return result.has_value();
}

TEST(HostileServer, InvalidResults) {
  using wire::ValueKind;
  const std::vector<int64_t> dims = {2}, most = {INT64_MAX, 4}, negative = {-1};
  auto tensor = [](uint8_t dtype, uint64_t after, int64_t offset,
                   const std::vector<int64_t>& dims) {
    return call_answered([&](FlatBufferBuilder& b, uint64_t first) {
      return wire::CreateValueDirect(b, ValueKind::Tensor, dtype, first + after, offset, &dims);
    });
  };
  constexpr auto kF32 = static_cast<uint8_t>(DType::kF32);
  EXPECT_TRUE(tensor(kF32, 0, 0, dims));
  EXPECT_FALSE(tensor(kF32, 1, 0, dims)) << "no such buffer";
  EXPECT_FALSE(tensor(kF32, 0, 4, dims)) << "outside of it";
  EXPECT_FALSE(tensor(kF32, 0, -8, dims));
  EXPECT_FALSE(tensor(kF32, 0, 0, most)) << "too large";
  EXPECT_FALSE(tensor(kF32, 0, 0, negative));
  EXPECT_FALSE(tensor(99, 0, 0, dims)) << "no dtype";
  EXPECT_FALSE(call_answered([](FlatBufferBuilder& b, uint64_t) {
    return wire::CreateValue(b, ValueKind::Prim);
  })) << "no value";
  EXPECT_FALSE(call_answered([](FlatBufferBuilder& b, uint64_t) {
    return wire::CreateValue(b, static_cast<ValueKind>(77));
  })) << "no kind";
}

TEST(HostileServer, ASharedStringOrVectorIsCountedEachTime) {
  const std::string text(4096, 'x');
  auto failure_with = [&](int lines) {
    RawServer server;
    auto session = server.open();
    server.reply(2, [&](FlatBufferBuilder& b) {
      const auto line = b.CreateString(text);
      const std::vector<flatbuffers::Offset<flatbuffers::String>> log(lines, line);
      return wire::CreateFailureDirect(b, 1, 1, "", "", "", "", "", false, &log);
    });
    Status status = session->synchronize(kDefaultStream);
    return fault_of(status);
  };
  EXPECT_EQ(failure_with(1), PlatformFault::kAbsent);
  EXPECT_EQ(failure_with(100), PlatformFault::kProtocol);
  auto result_with = [](int fields) {
    return call_answered([&](FlatBufferBuilder& b, uint64_t) {
      const std::vector<int64_t> dims(1000, 1);
      const auto shape = wire::CreateValueDirect(b, wire::ValueKind::Shape, 0, 0, 0, &dims);
      const std::vector<flatbuffers::Offset<wire::Value>> list(fields, shape);
      return wire::CreateValueDirect(b, wire::ValueKind::Tuple, 0, 0, 0, nullptr, &list);
    });
  };
  EXPECT_TRUE(result_with(1));
  EXPECT_FALSE(result_with(100));
}

}  // namespace
}  // namespace tapml::test
