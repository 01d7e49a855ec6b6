// Text from the other side that is shown on terminals: no part of it is a control sequence.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "raw_client.h"
#include "raw_server.h"
#include "rpc/session/wire.h"

namespace tapml::test {
namespace {

namespace wire = rpc::wire;

constexpr const char* kHostile = "\x1b[2Jname\r\u009b\n\xff";
constexpr const char* kShown = "\\x1b[2Jname\\x0d\\xc2\\x9b\n\\xff";

TEST(ShownText, OfAServersErrorsIsPrintable) {
  RawServer server;
  server.reply(1, [](flatbuffers::FlatBufferBuilder& builder) {
    Error error = platform_error(PlatformFault::kCrash, kHostile, kHostile, kHostile);
    error.expected = error.found = kHostile;
    return rpc::put_error(builder, error, true, {kHostile});
  });
  const auto session = server.connect();
  ASSERT_FALSE(session);
  const Error& error = session.error();
  EXPECT_EQ(error.message, kShown);
  EXPECT_EQ(error.expected, kShown);
  EXPECT_EQ(error.found, kShown);
  EXPECT_EQ(error.hint, kShown);
  // A line of the log stays one line.
  EXPECT_EQ(error.where, std::string(kShown) +
                             "\nthe last lines of the server's log:\n"
                             "  \\x1b[2Jname\\x0d\\xc2\\x9b\\n\\xff");
}

TEST(ShownText, OfADeviceIsPrintable) {
  RawServer server;
  server.reply(1, [](flatbuffers::FlatBufferBuilder& builder) {
    DeviceInfo info;
    info.platform = info.name = info.version = info.cpu = info.cpu_features = kHostile;
    return wire::CreateWelcome(builder, rpc::kNewestVersion, 0, rpc::put_device(builder, info),
                               1 << 20, 1 << 20);
  });
  const auto session = server.connect();
  ASSERT_TRUE(session) << session.error().to_string();
  const DeviceInfo& info = (*session)->info();
  for (const std::string* text :
       {&info.platform, &info.name, &info.version, &info.cpu, &info.cpu_features}) {
    EXPECT_EQ(*text, kShown);
  }
}

TEST(ShownText, OfAClientIsOneLineOfTheServersLog) {
  std::vector<std::string> lines;
  std::mutex lock;
  std::condition_variable came;
  rpc::ServerOptions options;
  options.log = [&](const std::string& line) {
    const std::lock_guard guard(lock);
    lines.push_back(line);
    came.notify_one();
  };
  RawClient client(options);
  client.send([](flatbuffers::FlatBufferBuilder& builder) {
    return wire::CreateHelloDirect(builder, "", rpc::kOldestVersion, rpc::kNewestVersion,
                                   rpc::kCapabilityVm, kHostile);
  });
  ASSERT_EQ(client.next(), wire::Answer::Welcome);
  // The welcome is sent before the line is written.
  std::unique_lock guard(lock);
  came.wait_for(guard, std::chrono::seconds(5), [&] { return !lines.empty(); });
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "opened \\x1b[2Jname\\x0d\\xc2\\x9b\\n\\xff");
}

}  // namespace
}  // namespace tapml::test
