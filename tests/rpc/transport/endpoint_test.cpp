#include <gtest/gtest.h>

#include "rpc/transport/connect.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace tapml::rpc {
namespace {

using testing::expect_parts;
using testing::fault_of;

TEST(Endpoint, ATrackersDeviceHasAKey) {
  const auto full = parse_endpoint("tracker:lab:9190/gpu-1");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->kind, Endpoint::Kind::kTracker);
  EXPECT_EQ(full->host, "lab");
  EXPECT_EQ(full->port, 9190);
  EXPECT_EQ(full->key, "gpu-1");
  EXPECT_FALSE(full->tls);
  EXPECT_EQ(full->text(), "tracker:tcp:lab:9190/gpu-1");
  const auto secure = parse_endpoint("tracker:tls:[::1]:1/x");
  ASSERT_TRUE(secure);
  EXPECT_TRUE(secure->tls);
  EXPECT_EQ(secure->text(), "tracker:tls:[::1]:1/x");
  EXPECT_EQ(parse_endpoint(secure->text())->text(), secure->text());
  const auto unnamed = parse_endpoint("tracker/phone");
  ASSERT_TRUE(unnamed);
  EXPECT_EQ(unnamed->host, "");
  EXPECT_EQ(unnamed->text(), "tracker/phone");
  EXPECT_EQ(parse_endpoint("tracker:9190")->kind, Endpoint::Kind::kTcp);  // a host's name
  for (const char* text : {"tracker/", "tracker/a/b", "tracker:lab:9190/", "tracker:lab/x",
                           "tracker:/x", "tracker:lab:9190/a b", "tracker:unix:/x/key"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

TEST(Endpoint, ParsesEveryForm) {
  struct Form {
    const char* text;
    Endpoint::Kind kind;
    const char* host;
    int port;
    const char* rest;  // path or command
    const char* written;
  };
  for (const Form& form : {
           Form{"host:9000", Endpoint::Kind::kTcp, "host", 9000, "", "tcp:host:9000"},
           Form{"tcp:10.0.0.7:1", Endpoint::Kind::kTcp, "10.0.0.7", 1, "", "tcp:10.0.0.7:1"},
           Form{"[::1]:65535", Endpoint::Kind::kTcp, "::1", 65535, "", "tcp:[::1]:65535"},
           Form{"tcp:[fe80::1]:80", Endpoint::Kind::kTcp, "fe80::1", 80, "", "tcp:[fe80::1]:80"},
           Form{"localhost:0", Endpoint::Kind::kTcp, "localhost", 0, "", "tcp:localhost:0"},
           Form{"tls:board.local:9000", Endpoint::Kind::kTcp, "board.local", 9000, "",
                "tls:board.local:9000"},
           Form{"tls:[::1]:1", Endpoint::Kind::kTcp, "::1", 1, "", "tls:[::1]:1"},
           Form{"unix:/run/x", Endpoint::Kind::kUnix, "", 0, "/run/x", "unix:/run/x"},
           Form{"unix:x.sock", Endpoint::Kind::kUnix, "", 0, "x.sock", "unix:x.sock"},
           Form{"pipe:tapml rpc serve --stdio", Endpoint::Kind::kPipe, "", 0,
                "tapml rpc serve --stdio", "pipe:tapml rpc serve --stdio"},
       }) {
    auto endpoint = parse_endpoint(form.text);
    ASSERT_TRUE(endpoint) << form.text << ": " << endpoint.error().to_string();
    EXPECT_EQ(endpoint->kind, form.kind) << form.text;
    EXPECT_EQ(endpoint->host, form.host) << form.text;
    EXPECT_EQ(endpoint->port, form.port) << form.text;
    EXPECT_EQ(endpoint->tls, std::string(form.text).starts_with("tls:")) << form.text;
    EXPECT_EQ(endpoint->path + endpoint->command, form.rest) << form.text;
    EXPECT_EQ(endpoint->text(), form.written);
    EXPECT_EQ(parse_endpoint(endpoint->text())->text(), endpoint->text());
  }
}

TEST(Endpoint, RefusesEveryMalformedForm) {
  struct Form {
    std::string text;
    std::vector<std::string> parts;
  };
  for (const Form& form : {
           Form{"", {"has no port", "host:port"}},
           Form{"host", {"has no port", "add \":\""}},
           Form{"tcp:host", {"has no port"}},
           Form{":9000", {"has no host"}},
           Form{"host:", {"a number from 0 to 65535"}},
           Form{"host:port", {"a number from 0 to 65535", "port"}},
           Form{"host:65536", {"a number from 0 to 65535", "65536"}},
           Form{"host:-1", {"a number from 0 to 65535"}},
           Form{"host:80x", {"a number from 0 to 65535"}},
           Form{"::1:9000", {"more than one colon", "brackets"}},
           Form{"http://host:80", {"more than one colon"}},
           Form{"[::1:9000", {"not closed"}},
           Form{"[::1]", {"no port"}},
           Form{"[::1]9000", {"no port"}},
           Form{"[]:9000", {"has no host"}},
           Form{"my host:9000", {"not a host name"}},
           Form{"user@host:9000", {"not a host name"}},
           Form{"tls:host", {"has no port"}},
           Form{"tls::9000", {"has no host"}},
           Form{"unix:", {"no path"}},
           Form{"unix:/" + std::string(200, 'x'), {"too long", "201 bytes, at most 107"}},
           Form{"pipe:", {"no command"}},
           Form{"pipe:  ", {"no command"}},
           Form{std::string("host\0:90", 8), {"null character"}},
       }) {
    auto endpoint = parse_endpoint(form.text);
    ASSERT_FALSE(endpoint) << form.text;
    EXPECT_EQ(endpoint.error().kind, ErrorKind::kUser) << form.text;
    expect_parts(endpoint.error(), form.parts);
    expect_parts(endpoint.error(), {"unix:path"});
  }
}

TEST(Connect, ReportsThatNothingListens) {
  testing::TempFolder folder;
  auto nobody = connect(*parse_endpoint("unix:" + folder / "nobody"));
  EXPECT_EQ(fault_of(nobody), PlatformFault::kAbsent);
  expect_parts(nobody.error(), {"nothing listens", folder / "nobody", "tapml rpc serve"});
  // Nothing uses port 1 of this machine.
  auto closed = connect(*parse_endpoint("127.0.0.1:1"));
  EXPECT_EQ(fault_of(closed), PlatformFault::kAbsent);
  auto unknown = connect(*parse_endpoint("no-such-host.invalid:9000"));
  EXPECT_EQ(fault_of(unknown), PlatformFault::kAbsent);
  expect_parts(unknown.error(), {"no-such-host.invalid", "not known"});
  auto any = connect(*parse_endpoint("localhost:0"));
  ASSERT_FALSE(any);
  EXPECT_EQ(any.error().kind, ErrorKind::kUser);
}

TEST(Connect, StartsACommandWithoutAShell) {
  auto absent = connect(*parse_endpoint("pipe:/no/such/program --flag"));
  EXPECT_EQ(fault_of(absent), PlatformFault::kAbsent);
  expect_parts(absent.error(), {"cannot start", "/no/such/program"});

  // cat echoes its input; a shell would split this into three words and a file.
  auto mirror = connect(*parse_endpoint("pipe:cat - "));
  ASSERT_TRUE(mirror) << mirror.error().to_string();
  const std::string text = "a frame; $(true) > file";
  const auto bytes = std::as_bytes(std::span(text));
  ASSERT_TRUE((*mirror)->send(bytes, bytes));
  std::vector<std::byte> head;
  uint64_t payload = 0;
  ASSERT_TRUE((*mirror)->receive(head, payload));
  EXPECT_EQ(head.size(), text.size());
  std::vector<std::byte> came(payload);
  ASSERT_TRUE((*mirror)->receive_payload(came));
  EXPECT_TRUE(std::ranges::equal(came, bytes));
}

// The command may be on another machine: a terminal must not act on what it writes.
TEST(Connect, TheStandardErrorOfACommandIsEscaped) {
  const testing::TempFolder folder;
  testing::write_bytes(folder / "script",
                       "printf '\\033[31mred\\nblue \\303\\244\\nlast' >&2\n"
                       "sleep 5 </dev/null >/dev/null &\n");
  ::testing::internal::CaptureStderr();
  {
    auto channel = connect(*parse_endpoint("pipe:sh " + folder / "script"));
    ASSERT_TRUE(channel);
    std::vector<std::byte> head;
    uint64_t payload = 0;
    EXPECT_FALSE((*channel)->receive(head, payload));
  }
  const std::string shown = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown, "\\x1b[31mred\nblue \u00e4\nlast\n");
}

TEST(Connect, ACommandThatEndsIsLostAndLeavesNoProcess) {
  auto ends = connect(*parse_endpoint("pipe:true"));
  ASSERT_TRUE(ends);
  std::vector<std::byte> head;
  uint64_t payload = 0;
  auto status = (*ends)->receive(head, payload);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLost);
  // Does not read its input and would sleep for an hour.
  auto sleeps = connect(*parse_endpoint("pipe:sleep 3600"));
  ASSERT_TRUE(sleeps);
  const auto start = std::chrono::steady_clock::now();
  sleeps->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tapml::rpc
