// Connections: what they carry, their limits, and clients that are slow, rude or gone.
#include "server/http/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/http_client.h"
#include "support/temp_folder.h"
#ifdef TAPML_HAS_OPENSSL
#include <openssl/ssl.h>

#include "support/certificates.h"
#endif

namespace tapml::server {
namespace {

using testing::HttpClient;
using testing::HttpReply;

std::unique_ptr<HttpServer> serve(HttpHandler handler, HttpOptions options = {}) {
  auto server = HttpServer::listen(options, std::move(handler));
  EXPECT_TRUE(server) << server.error().to_string();
  return *std::move(server);
}

// Answers with the request.
void echo(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  exchange->respond(200, "text/plain",
                    request.method + " " + request.path + " " + request.query + " " + request.body);
}

// Waits, ten seconds at most.
template <typename Done>
bool comes_true(const Done& is_done) {
  for (int i = 0; i < 1000 && !is_done(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return is_done();
}

TEST(HttpServer, AnswersRequestsOnOneConnection) {
  const auto server = serve(echo);
  HttpClient client(server->port());
  EXPECT_EQ(client.get("/a?b=1").body, "GET /a b=1 ");
  EXPECT_EQ(client.post("/c", "body").body, "POST /c  body");
  EXPECT_EQ(client.ask("HEAD", "/d").head.substr(0, 15), "HTTP/1.1 200 OK");
  EXPECT_EQ(server->connections(), 1);
  // Pipelined.
  client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read_reply().body, "GET /1  ");
  EXPECT_EQ(client.read_reply().body, "GET /2  ");
  client.send("GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read_reply().body, "GET /3  ");
  EXPECT_EQ(client.read_until(""), "") << "the server closed the connection";
  HttpClient old(server->port());
  old.send("GET /4 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_reply().body, "GET /4  ");
  EXPECT_EQ(old.read_until(""), "");
}

TEST(HttpServer, SendsAnswersInPieces) {
  std::shared_ptr<Exchange> kept;
  std::atomic<bool> has_come = false;
  const auto server = serve([&](const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
    exchange->begin(200, "text/event-stream");
    exchange->write("one\n");
    kept = exchange;
    has_come = true;
  });
  HttpClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(comes_true([&] { return has_come.load(); }));
  EXPECT_NE(client.read_until("one\n").find("Transfer-Encoding: chunked"), std::string::npos)
      << "the first piece comes before the others are known";
  kept->write("two\n");
  client.read_until("two\n");
  kept->end();
  kept->end();
  kept->write("ignored");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "\r\n0\r\n\r\n");
  kept.reset();
  // Without chunks the end of the connection ends the answer.
  HttpClient old(server->port());
  has_come = false;
  old.send("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(comes_true([&] { return has_come.load(); }));
  kept->end();
  const HttpReply reply = old.read_reply();
  EXPECT_EQ(reply.body, "one\n");
  kept.reset();
}

TEST(HttpServer, TellsOfAClientThatIsGone) {
  for (const bool streams : {false, true}) {
    std::shared_ptr<Exchange> kept;
    std::atomic<int> gone = 0;
    std::atomic<bool> has_come = false;
    const auto server = serve([&](const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
      exchange->on_gone([&] { ++gone; });
      if (streams) exchange->begin(200, "text/plain");
      kept = exchange;
      has_come = true;
    });
    HttpClient client(server->port());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(comes_true([&] { return has_come.load(); }));
    EXPECT_EQ(server->open_exchanges(), 1);
    client.close();
    EXPECT_TRUE(comes_true([&] { return gone == 1; })) << streams;
    EXPECT_TRUE(comes_true([&] { return server->open_exchanges() == 0; }));
    kept->respond(200, "text/plain", "late");
    kept->write("late");
    kept->end();
    bool at_once = false;
    kept->on_gone([&] { at_once = true; });
    EXPECT_TRUE(at_once);
    kept.reset();
  }
}

TEST(HttpServer, LetsGoOfAClientThatTakesNothing) {
  std::shared_ptr<Exchange> kept;
  std::atomic<bool> gone = false, has_come = false;
  HttpOptions options;
  options.unsent_bytes = 1 << 20;
  const auto server = serve(
      [&](const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
        exchange->begin(200, "text/plain");
        exchange->on_gone([&] { gone = true; });
        kept = exchange;
        has_come = true;
      },
      options);
  HttpClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(comes_true([&] { return has_come.load(); }));
  // More than the sockets and the limit hold. The rest of a piece may be on its way for 30 s.
  for (int i = 0; i < 64; ++i) kept->write(std::string(1 << 18, 'x'));
  HttpClient other(server->port());
  EXPECT_TRUE(other.is_connected()) << "others are served meanwhile";
  client.close();
  EXPECT_TRUE(comes_true([&] { return gone.load(); }));
  kept.reset();
}

TEST(HttpServer, RefusesWhatIsTooLargeOrNotHttp) {
  HttpOptions options;
  options.body_bytes = 1000;
  const auto server = serve(echo, options);
  HttpClient large(server->port());
  EXPECT_EQ(large.post("/", std::string(1001, 'x')).status, 413);
  HttpClient chunked(server->port());
  chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n" +
               std::string(5000, 'x'));
  EXPECT_EQ(chunked.read_reply().status, 413);
  HttpClient headers(server->port());
  EXPECT_EQ(headers.get("/", "X-Large: " + std::string(40000, 'x') + "\r\n").status, 431);
  for (const char* bytes :
       {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n"}) {
    HttpClient client(server->port());
    client.send(bytes);
    EXPECT_EQ(client.read_reply().status, 400) << bytes;
  }
  HttpClient fine(server->port());
  EXPECT_EQ(fine.post("/", std::string(1000, 'x')).status, 200);
}

TEST(HttpServer, EndsConnectionsWithoutARequest) {
  HttpOptions options;
  options.idle = std::chrono::seconds(1);
  const auto server = serve(echo, options);
  HttpClient silent(server->port()), partial(server->port());
  partial.send("GET / HT");
  EXPECT_EQ(silent.read_until(""), "");
  EXPECT_EQ(partial.read_until(""), "");
  EXPECT_TRUE(comes_true([&] { return server->connections() == 0; }));
}

TEST(HttpServer, HasAMostOfConnections) {
  HttpOptions options;
  options.connections = 2;
  const auto server = serve(echo, options);
  auto first = std::make_unique<HttpClient>(server->port());
  HttpClient second(server->port());
  EXPECT_EQ(first->get("/").status, 200);
  EXPECT_EQ(second.get("/").status, 200);
  HttpClient third(server->port());
  EXPECT_EQ(third.get("/").status, 0);
  first.reset();
  ASSERT_TRUE(comes_true([&] { return server->connections() == 1; }));
  HttpClient fourth(server->port());
  EXPECT_EQ(fourth.get("/").status, 200);
}

TEST(HttpServer, ClosesWithoutCuttingAnAnswer) {
  std::shared_ptr<Exchange> kept;
  std::atomic<bool> has_come = false;
  const auto server =
      serve([&](const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
        if (request.path == "/idle") return exchange->respond(200, "text/plain", "");
        kept = exchange;
        has_come = true;
      });
  HttpClient idle(server->port()), busy(server->port());
  EXPECT_EQ(idle.get("/idle").status, 200);
  busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(comes_true([&] { return has_come.load(); }));
  server->close();
  EXPECT_EQ(idle.read_until(""), "");
  kept->respond(200, "text/plain", "done");
  const HttpReply reply = busy.read_reply();
  EXPECT_EQ(reply.body, "done");
  EXPECT_NE(reply.head.find("Connection: close"), std::string::npos);
  kept.reset();
  HttpClient late(server->port());
  EXPECT_EQ(late.get("/").status, 0);
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const auto server = serve(echo);
  HttpOptions taken;
  taken.port = server->port();
  const auto again = HttpServer::listen(taken, echo);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::kPlatform);
  HttpOptions beyond;
  beyond.host = "0.0.0.0";
  const auto open = HttpServer::listen(beyond, echo);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().kind, ErrorKind::kUser);
  HttpOptions secret;
  secret.tls_certificate = secret.tls_key = "/nonexistent.pem";
  const auto encrypted = HttpServer::listen(secret, echo);
  ASSERT_FALSE(encrypted);
  EXPECT_NE(encrypted.error().to_string().find("/nonexistent.pem"), std::string::npos);
}

#ifdef TAPML_HAS_OPENSSL

TEST(HttpServer, Encrypts) {
  testing::TempFolder folder;
  const testing::Authority authority("root");
  authority.write_root(folder / "root.pem");
  authority.issue(folder / "cert.pem", folder / "key.pem");
  HttpOptions options;
  options.tls_certificate = folder / "cert.pem";
  options.tls_key = folder / "key.pem";
  const auto server = serve(echo, options);

  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                             SSL_CTX_free);
  ASSERT_EQ(SSL_CTX_load_verify_locations(context.get(), (folder / "root.pem").c_str(), nullptr),
            1);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  HttpClient client(server->port());
  const std::unique_ptr<SSL, void (*)(SSL*)> tls(SSL_new(context.get()), SSL_free);
  SSL_set_fd(tls.get(), client.descriptor());
  ASSERT_EQ(SSL_connect(tls.get()), 1);
  for (const std::string path : {"/one", "/two"}) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ASSERT_GT(SSL_write(tls.get(), request.data(), static_cast<int>(request.size())), 0);
    std::string reply;
    while (!reply.contains("GET " + path + "  ")) {
      char bytes[1024];
      const int count = SSL_read(tls.get(), bytes, sizeof bytes);
      ASSERT_GT(count, 0) << reply;
      reply.append(bytes, static_cast<size_t>(count));
    }
  }
  // A client that does not encrypt gets nothing, and harms no one.
  HttpClient plain(server->port());
  EXPECT_NE(plain.get("/").status, 200);
}

#endif

}  // namespace
}  // namespace tapml::server
