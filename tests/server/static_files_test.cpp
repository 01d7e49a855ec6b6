// Files over HTTP: types, ranges, tags, and what is not served.
#include "server/files/static_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "server/files/byte_range.h"
#include "server/http/http_server.h"
#include "support/http_client.h"
#include "support/temp_folder.h"

namespace tapml::server {
namespace {

using testing::HttpClient;
using testing::HttpReply;
using testing::TempFolder;
using testing::write_bytes;

bool has(const HttpReply& reply, const std::string& line) {
  return (reply.head + "\r\n").find("\r\n" + line + "\r\n") != std::string::npos;
}

class StaticFilesTest : public ::testing::Test {
 protected:
  StaticFilesTest() {
    namespace fs = std::filesystem;
    fs::create_directories(folder_ / "pages/obj");
    fs::create_directories(folder_ / "demo/part");
    write_bytes(folder_ / "pages/device.html", "<p>device");
    write_bytes(folder_ / "pages/a.mjs", "export {};");
    write_bytes(folder_ / "pages/b.wasm", "0123456789");
    write_bytes(folder_ / "pages/c.o", "object");
    write_bytes(folder_ / "pages/.hidden.html", "hidden");
    write_bytes(folder_ / "secret.html", "secret");
    write_bytes(folder_ / "demo/weights.safetensors", std::string(1 << 20, 'w') + "end");
    write_bytes(folder_ / "demo/part/x", "x");
    fs::create_symlink(folder_ / "secret.html", folder_ / "pages/link.html");
    fs::create_symlink("a.mjs", folder_ / "pages/inner.mjs");
    EXPECT_EQ(::mkfifo((folder_ / "demo/pipe").c_str(), 0600), 0);
    StaticOptions options;
    options.pages = folder_ / "pages";
    options.models = {{"demo", folder_ / "demo"}, {"two words", folder_ / "demo"}};
    options.home = "/device";
    options.access.origins = {"https://lab.example"};
    files_ = std::make_unique<StaticFiles>(options);
    auto server = HttpServer::listen(
        {}, [this](const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
          files_->handle(request, exchange);
        });
    EXPECT_TRUE(server) << server.error().to_string();
    server_ = *std::move(server);
    client_ = std::make_unique<HttpClient>(server_->port());
  }
  HttpReply get(const std::string& path, const std::string& headers = "") {
    client_->send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n");
    return client_->read_reply();
  }
  int status(const std::string& path, const std::string& headers = "") {
    return get(path, headers).status;
  }

  TempFolder folder_;
  std::unique_ptr<StaticFiles> files_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(StaticFilesTest, ServesPagesIsolated) {
  const HttpReply page = get("/device.html");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "<p>device");
  for (const char* line :
       {"Content-Type: text/html; charset=utf-8", "Cross-Origin-Opener-Policy: same-origin",
        "Cross-Origin-Embedder-Policy: require-corp", "Cross-Origin-Resource-Policy: same-origin",
        "X-Content-Type-Options: nosniff", "Cache-Control: no-cache",
        "Content-Security-Policy: frame-ancestors 'self'", "Content-Length: 9"}) {
    EXPECT_TRUE(has(page, line)) << line << "\n" << page.head;
  }
  EXPECT_EQ(get("/device").body, "<p>device");
  EXPECT_TRUE(has(get("/a.mjs"), "Content-Type: text/javascript; charset=utf-8"));
  EXPECT_TRUE(has(get("/b.wasm"), "Content-Type: application/wasm"));
  EXPECT_EQ(get("/inner.mjs").body, "export {};");
  const HttpReply home = get("/");
  EXPECT_EQ(home.status, 302);
  EXPECT_TRUE(has(home, "Location: /device"));
}

TEST_F(StaticFilesTest, ServesModels) {
  EXPECT_EQ(get("/models/index.json").body, R"([{"name":"demo"},{"name":"two words"}])");
  const HttpReply weights = get("/models/demo/weights.safetensors");
  EXPECT_EQ(weights.body.size(), size_t{1 << 20} + 3);
  EXPECT_TRUE(weights.body.ends_with("end"));
  EXPECT_EQ(get("/models/two%20words/part/x").body, "x");
  EXPECT_EQ(status("/models/other/x"), 404);
  EXPECT_EQ(status("/models/demo"), 404);
}

TEST_F(StaticFilesTest, ServesRanges) {
  const HttpReply part = get("/b.wasm", "Range: bytes=2-4\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_TRUE(has(part, "Content-Range: bytes 2-4/10")) << part.head;
  EXPECT_EQ(get("/b.wasm", "Range: bytes=7-\r\n").body, "789");
  EXPECT_EQ(get("/b.wasm", "Range: bytes=-2\r\n").body, "89");
  const HttpReply beyond = get("/b.wasm", "Range: bytes=10-\r\n");
  EXPECT_EQ(beyond.status, 416);
  EXPECT_TRUE(has(beyond, "Content-Range: bytes */10"));
  // Of another version of the file: all of it.
  EXPECT_EQ(get("/b.wasm", "Range: bytes=2-4\r\nIf-Range: \"old\"\r\n").status, 200);
  EXPECT_EQ(get("/models/demo/weights.safetensors", "Range: bytes=-4\r\n").body, "wend");
}

TEST_F(StaticFilesTest, ANewFileHasAnotherTag) {
  const auto tag_of = [](const HttpReply& reply) {
    const size_t at = reply.head.find("ETag: ") + 6;
    return reply.head.substr(at, reply.head.find("\r\n", at) - at);
  };
  const std::string tag = tag_of(get("/b.wasm"));
  client_->send("GET /b.wasm HTTP/1.1\r\nHost: 127.0.0.1\r\nIf-None-Match: " + tag + "\r\n\r\n");
  EXPECT_EQ(client_->read_reply(false).status, 304);
  EXPECT_EQ(get("/b.wasm", "Range: bytes=0-0\r\nIf-Range: " + tag + "\r\n").status, 206);
  write_bytes(folder_ / "pages/b.wasm", "another");
  EXPECT_EQ(get("/b.wasm", "If-None-Match: " + tag + "\r\n").body, "another");
}

TEST_F(StaticFilesTest, ServesNothingElse) {
  for (const char* path : {"/c.o",
                           "/missing.html",
                           "/.hidden.html",
                           "/link.html",
                           "/obj",
                           "/../secret.html",
                           "/obj/../a.mjs",
                           "/%2e%2e/secret.html",
                           "/..%2fsecret.html",
                           "/pages%2f..%2fsecret.html",
                           "//a.mjs",
                           "/a.mjs/",
                           "/a.mjs%00.html",
                           "/%",
                           "/models/demo/../../secret.html",
                           "/models/demo/%2e%2e/secret.html",
                           "/models/demo/part",
                           "/models/demo/pipe",
                           "/models/../a.mjs",
                           "/models/demo/"}) {
    EXPECT_EQ(status(path), 404) << path;
  }
  EXPECT_EQ(client_->post("/device.html", "x").status, 405);
}

TEST_F(StaticFilesTest, OtherHostsAndOriginsAreRefused) {
  EXPECT_EQ(status("/device.html", "Origin: http://evil.example\r\n"), 403);
  EXPECT_EQ(status("/device.html", "Origin: http://127.0.0.1\r\n"), 200);
  const HttpReply shared = get("/b.wasm", "Origin: https://lab.example\r\n");
  EXPECT_TRUE(has(shared, "Access-Control-Allow-Origin: https://lab.example"));
  EXPECT_TRUE(has(shared, "Cross-Origin-Resource-Policy: cross-origin"));
  // A foreign name that leads to this machine.
  client_->send("GET /device.html HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(client_->read_reply().status, 403);
}

TEST(ByteRange, IsReadAsHttpSays) {
  using Kind = ByteRange::Kind;
  const auto part = [](const char* text) {
    const ByteRange range = parse_range(text, 10);
    return range.kind == Kind::kPart ? std::pair(range.begin, range.end)
                                     : std::pair(int64_t{-1}, int64_t(range.kind));
  };
  EXPECT_EQ(part("bytes=0-0"), std::pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(part("bytes=5-99999999999999999999"), std::pair(int64_t{5}, int64_t{10}));
  EXPECT_EQ(part("bytes=-99"), std::pair(int64_t{0}, int64_t{10}));
  for (const char* text : {"", "bytes=", "bytes=-", "bytes=2-1", "bytes=0-1,3-4", "items=0-1",
                           "bytes=a-b", "bytes=+1-2", "bytes=1", "bytes=--1"}) {
    EXPECT_EQ(parse_range(text, 10).kind, Kind::kWhole) << text;
  }
  for (const char* text : {"bytes=10-", "bytes=99999999999999999999-", "bytes=-0"}) {
    EXPECT_EQ(parse_range(text, 10).kind, Kind::kUnsatisfiable) << text;
  }
  EXPECT_EQ(parse_range("bytes=-5", 0).kind, Kind::kUnsatisfiable);
}

}  // namespace
}  // namespace tapml::server
