#include "app/tokens.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/expect_error.h"

namespace tapml::app {
namespace {

using testing::expect_user_error;

rpc::Endpoint endpoint(const std::string& text) { return *rpc::parse_endpoint(text); }

TEST(Tokens, AnUnboundTokenIsForEveryEndpoint) {
  for (const char* text : {"secret", "secret\n", "\n  secret\r\n\n"}) {
    const Tokens tokens = Tokens::parse(text, "file");
    EXPECT_EQ(tokens.of(endpoint("board:9000")), "secret");
    EXPECT_EQ(tokens.of(endpoint("unix:x")), "secret");
    EXPECT_EQ(tokens.own(), "secret");
  }
  EXPECT_EQ(Tokens::parse("four words of one\n", "file").own(), "four words of one");
  EXPECT_EQ(Tokens::parse("#hash", "file").own(), "#hash");
}

TEST(Tokens, BoundOnesAreForTheirEndpoint) {
  const Tokens tokens = Tokens::parse(
      "# of the lab\n"
      "tls:Board.local:9000\tfirst\n\n"
      "127.0.0.1:9000  second\n"
      "unix:device.sock third\n"
      "pipe:ssh board tapml rpc serve --stdio fourth\n",
      "file");
  EXPECT_EQ(tokens.of(endpoint("tls:board.LOCAL:9000")), "first");
  EXPECT_EQ(tokens.of(endpoint("tcp:127.0.0.1:9000")), "second");
  EXPECT_EQ(tokens.of(endpoint("unix:" + std::filesystem::absolute("device.sock").string())),
            "third");
  EXPECT_EQ(tokens.of(endpoint("pipe:ssh board tapml rpc serve --stdio")), "fourth");
  // A token bound to an encrypted endpoint is not sent to the same host without encryption.
  for (const char* other : {"board.local:9000", "tls:board.local:9001", "unix:other.sock"}) {
    try {
      tokens.of(endpoint(other));
      ADD_FAILURE() << other;
    } catch (const CompilerException& exception) {
      const std::string text = exception.error().to_string();
      testing::expect_parts(exception.error(),
                            {"no token for this endpoint", endpoint(other).text(), "file",
                             "tls:Board.local:9000, tcp:127.0.0.1:9000, unix:device.sock"});
      for (const char* secret : {"first", "second", "third", "fourth"}) {
        EXPECT_EQ(text.find(secret), std::string::npos) << text;
      }
    }
  }
  expect_user_error([&] { tokens.own(); }, {"a server has one token", "4 lines"});
}

TEST(Tokens, AFileOfOneLineMayBindItsToken) {
  const Tokens tokens = Tokens::parse("tls:board:9000 secret\n", "file");
  EXPECT_EQ(tokens.of(endpoint("tls:board:9000")), "secret");
  expect_user_error([&] { tokens.of(endpoint("tls:other:9000")); }, {"tls:board:9000"});
}

TEST(Tokens, RefuseOtherFilesAndDoNotQuoteThem) {
  struct Case {
    std::string text;
    std::vector<std::string> parts;
  };
  for (const Case& wrong :
       {Case{"", {"not a file with a token", "nothing"}}, Case{"\n \n", {"nothing"}},
        Case{"one\ntwo\n", {"file:1", "several lines"}},
        Case{"tls:a:1 one\ntwo three\n", {"file:2", "endpoint", "several lines"}},
        Case{"tls:a:1 one\nTLS:a:1 two\n", {"file:2"}},
        Case{"tls:a:1 one\ntls:A:1 two\n", {"file:2", "two tokens"}},
        Case{"# nothing\n# at all\n", {"comments only"}},
        Case{std::string(5000, 'x'), {"too long", "4096"}}}) {
    try {
      Tokens::parse(wrong.text, "file");
      ADD_FAILURE() << wrong.text;
    } catch (const CompilerException& exception) {
      EXPECT_EQ(exception.error().kind, ErrorKind::kUser);
      testing::expect_parts(exception.error(), wrong.parts);
      EXPECT_EQ(exception.error().to_string().find("three"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tapml::app
