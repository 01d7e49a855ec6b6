#include "net/tls_terminator.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include "support/certificates.h"
#include "support/temp_folder.h"

namespace tapml::net {
namespace {

using testing::TempFolder;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    const timeval limit = {20, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~Socket() { close(); }
  int get() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // What comes until the end, or until there is so much of it.
  std::string read(size_t most = std::string::npos) const {
    std::string all;
    char bytes[1 << 16];
    while (all.size() < most) {
      const ssize_t count =
          ::recv(descriptor_, bytes, std::min(sizeof bytes, most - all.size()), 0);
      if (count <= 0) break;
      all.append(bytes, static_cast<size_t>(count));
    }
    return all;
  }

 private:
  int descriptor_;
};

class TlsTerminatorTest : public ::testing::Test {
 protected:
  TlsTerminatorTest() : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to connections that have ended
    const testing::Authority authority("root");
    authority.write_root(folder_ / "root.pem");
    authority.issue(folder_ / "cert.pem", folder_ / "key.pem");
    SSL_CTX_load_verify_locations(context_.get(), (folder_ / "root.pem").c_str(), nullptr);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    terminator_ = *TlsTerminator::create(folder_ / "cert.pem", folder_ / "key.pem");
  }

  // A client's end, without TLS yet, and the server's plain one.
  std::pair<Socket, Socket> connect() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    return {Socket(ends[0]), Socket(terminator_->terminate(ends[1]))};
  }

  using Tls = std::unique_ptr<SSL, void (*)(SSL*)>;
  Tls encrypt(const Socket& client) {
    Tls tls(SSL_new(context_.get()), SSL_free);
    SSL_set_fd(tls.get(), client.get());
    EXPECT_EQ(SSL_connect(tls.get()), 1);
    return tls;
  }

  static std::string read_all(SSL* tls) {
    std::string all;
    char bytes[1 << 16];
    for (int count; (count = SSL_read(tls, bytes, sizeof bytes)) > 0;) {
      all.append(bytes, static_cast<size_t>(count));
    }
    return all;
  }
  static std::string pattern(size_t size) {
    std::string text(size, 0);
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761u) >> 13);
    return text;
  }

  TempFolder folder_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<TlsTerminator> terminator_;
};

TEST_F(TlsTerminatorTest, CarriesMuchInBothDirectionsAtOnce) {
  auto [client, server] = connect();
  const auto tls = encrypt(client);
  const std::string question = pattern(5'000'001), answer = pattern(3'000'017);
  std::string got;
  std::thread serves([&, &plain = server] {
    got = plain.read(question.size());
    plain.send(answer);
    ::shutdown(plain.get(), SHUT_WR);
  });
  EXPECT_EQ(SSL_write(tls.get(), question.data(), static_cast<int>(question.size())),
            static_cast<int>(question.size()));
  const std::string reply = read_all(tls.get());
  serves.join();
  EXPECT_TRUE(got == question);
  EXPECT_TRUE(reply == answer);
}

// An end of TLS that a proxy or a browser would take for a broken connection is one too many.
TEST_F(TlsTerminatorTest, TheServersEndIsTheClients) {
  auto [client, server] = connect();
  const auto tls = encrypt(client);
  ASSERT_TRUE(server.send("good bye"));
  server.close();
  EXPECT_EQ(read_all(tls.get()), "good bye");
  EXPECT_EQ(SSL_get_shutdown(tls.get()) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
  SSL_shutdown(tls.get());
  EXPECT_EQ(client.read(), "");
}

TEST_F(TlsTerminatorTest, AClientThatOnlyEndsItsDirectionGetsItsAnswer) {
  auto [client, server] = connect();
  const auto tls = encrypt(client);
  ASSERT_EQ(SSL_write(tls.get(), "question", 8), 8);
  SSL_shutdown(tls.get());
  EXPECT_EQ(server.read(), "question");
  ASSERT_TRUE(server.send("answer"));
  server.close();
  EXPECT_EQ(read_all(tls.get()), "answer");
}

TEST_F(TlsTerminatorTest, AClientThatLeavesEndsTheServersEnd) {
  auto [client, server] = connect();
  {
    const auto tls = encrypt(client);
    ASSERT_EQ(SSL_write(tls.get(), "half", 4), 4);
    EXPECT_EQ(server.read(4), "half");
  }
  client.close();
  EXPECT_EQ(server.read(), "");
}

TEST_F(TlsTerminatorTest, WhatIsNoTlsDeliversNothing) {
  auto [client, server] = connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_EQ(server.read(), "");
  auto [silent, other] = connect();
  ::shutdown(silent.get(), SHUT_WR);
  EXPECT_EQ(other.read(), "");
}

TEST_F(TlsTerminatorTest, ClosingTheServersEndGivesTheHandshakeUp) {
  auto [client, server] = connect();
  server.close();
  EXPECT_EQ(client.read(), "");
}

TEST_F(TlsTerminatorTest, ItsEndEndsAll) {
  auto [client, server] = connect();
  const auto tls = encrypt(client);
  auto [silent, other] = connect();
  terminator_.reset();
  EXPECT_EQ(server.read(), "");
  EXPECT_EQ(other.read(), "");
  EXPECT_EQ(read_all(tls.get()), "");
}

TEST_F(TlsTerminatorTest, NamesTheFileThatCannotBeUsed) {
  const auto message = [&](const std::string& certificate, const std::string& key) {
    const auto created = TlsTerminator::create(certificate, key);
    EXPECT_FALSE(created);
    return created ? "" : created.error().to_string();
  };
  const std::string good = folder_ / "cert.pem", absent = folder_ / "absent.pem";
  EXPECT_NE(message(absent, folder_ / "key.pem").find("absent.pem"), std::string::npos);
  EXPECT_NE(message(good, absent).find("absent.pem"), std::string::npos);
  EXPECT_NE(message(good, good).find("private key"), std::string::npos);
  const testing::Authority other("other");
  other.issue(folder_ / "other.pem", folder_ / "other_key.pem");
  EXPECT_NE(message(good, folder_ / "other_key.pem").find("the certificate's private key"),
            std::string::npos);
}

}  // namespace
}  // namespace tapml::net
