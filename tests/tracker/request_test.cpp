#include "tracker/request.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tapml::tracker {
namespace {

Rules rules(const std::string& token = "", const std::string& endpoint = "127.0.0.1:9190") {
  return {token, {"https://lab.example"}, *rpc::parse_endpoint(endpoint)};
}

Request request(const std::string& target, const std::string& origin = "") {
  Request made;
  made.method = "GET";
  made.target = target;
  made.host = "127.0.0.1:9190";
  made.origin = origin;
  made.is_websocket = !origin.empty();
  made.upgrades = origin.empty();
  return made;
}

int refusal_of(const Request& asked, const Rules& rules) {
  const auto result = understand(asked, rules);
  return result ? 0 : result.error().status;
}

TEST(TrackerRequest, ReadsWhatIsAsked) {
  const auto device = understand(request("/device?key=lab.1"), rules());
  ASSERT_TRUE(device);
  EXPECT_EQ(device->kind, Asked::Kind::kDevice);
  EXPECT_EQ(device->key, "lab.1");
  EXPECT_EQ(device->signs.count(), 0);
  EXPECT_EQ(understand(request("/device?key=a&signs=15"), rules())->signs.count(), 15);
  const auto lease = understand(request("/lease?priority=-3&wait=7&key=%6c%61b"), rules());
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->kind, Asked::Kind::kLease);
  EXPECT_EQ(lease->key, "lab");
  EXPECT_EQ(lease->priority, -3);
  EXPECT_EQ(lease->wait.count(), 7);
  EXPECT_EQ(understand(request("/status"), rules())->kind, Asked::Kind::kStatus);
}

TEST(TrackerRequest, RefusesWhatItCannotRead) {
  for (const char* target :
       {"/device", "/device?key=", "/device?key=a/b", "/device?key=a&key=b", "/device?key=%4",
        "/device?key=%zz", "/lease?key=a&priority=101", "/lease?key=a&priority=x",
        "/device?key=a&signs=x", "/device?key=a&signs=-1", "/lease?key=a&wait=-1",
        "/lease?key=a&wait=9999999999999999999999", "/lease?key",
        "/device?key=0123456789012345678901234567890123456789012345678901234567890123456789"}) {
    EXPECT_EQ(refusal_of(request(target), rules()), 400) << target;
  }
  EXPECT_EQ(refusal_of(request("/"), rules()), 404);
  EXPECT_EQ(refusal_of(request(""), rules()), 404);
  Request post = request("/status");
  post.method = "POST";
  EXPECT_EQ(refusal_of(post, rules()), 405);
  Request plain = request("/device?key=lab");
  plain.upgrades = false;
  EXPECT_EQ(refusal_of(plain, rules()), 400);
  Request page = request("/lease?key=lab");
  page.upgrades = false;
  page.is_websocket = true;  // clients are no pages
  EXPECT_EQ(refusal_of(page, rules()), 400);
}

TEST(TrackerRequest, TakesTheRightTokenOnly) {
  for (const char* target : {"/device?key=lab", "/lease?key=lab", "/status"}) {
    const std::string text = target;
    const std::string sign = text.find('?') == std::string::npos ? "?" : "&";
    EXPECT_EQ(refusal_of(request(text), rules("s3cret")), 401);
    EXPECT_EQ(refusal_of(request(text + sign + "token=s3cre"), rules("s3cret")), 401);
    EXPECT_EQ(refusal_of(request(text + sign + "token=s3cret%00"), rules("s3cret")), 401);
    EXPECT_EQ(refusal_of(request(text + sign + "token=s3%63ret"), rules("s3cret")), 0);
    Request header = request(text);
    header.authorization = "Bearer s3cret";
    EXPECT_EQ(refusal_of(header, rules("s3cret")), 0);
    header.authorization = "Bearer s3cret2";
    EXPECT_EQ(refusal_of(header, rules("s3cret")), 401);
    header.authorization = "Basic s3cret";
    EXPECT_EQ(refusal_of(header, rules("s3cret")), 401);
  }
}

TEST(TrackerRequest, RefusesPagesOfOtherOrigins) {
  const std::string target = "/device?key=lab";
  EXPECT_EQ(refusal_of(request(target, "http://127.0.0.1:9190"), rules()), 0);
  EXPECT_EQ(refusal_of(request(target, "https://lab.example"), rules()), 0);
  for (const char* origin :
       {"http://evil.example", "https://127.0.0.1:9190", "http://127.0.0.1:8080",
        "https://lab.example:444", "https://lab.example.evil", "http://lab.example", "null"}) {
    EXPECT_EQ(refusal_of(request(target, origin), rules()), 403) << origin;
  }
  // The token does not help a foreign page.
  EXPECT_EQ(refusal_of(request(target + "&token=s", "http://evil.example"), rules("s")), 403);
}

TEST(TrackerRequest, AForeignNameOfThisMachineIsRefused) {
  Request rebound = request("/device?key=lab", "http://evil.example:9190");
  rebound.host = "evil.example:9190";
  EXPECT_EQ(refusal_of(rebound, rules()), 403);
  rebound.origin = "";  // pages send none with some requests of their own origin
  rebound.target = "/status";
  EXPECT_EQ(refusal_of(rebound, rules()), 403);
  for (const char* own : {"localhost:9190", "LOCALHOST:1", "[::1]:9190", "127.0.0.2"}) {
    rebound.host = own;
    EXPECT_EQ(refusal_of(rebound, rules()), 0) << own;
  }
  rebound.host = "";
  EXPECT_EQ(refusal_of(rebound, rules()), 400);
  // Names of a tracker for other machines are not known; there the token decides.
  rebound.host = "lab.example:9190";
  EXPECT_EQ(refusal_of(rebound, rules("", "0.0.0.0:9190")), 0);
  rebound.origin = "http://lab.example:9190";
  EXPECT_EQ(refusal_of(rebound, rules("", "0.0.0.0:9190")), 403);
  EXPECT_EQ(refusal_of(rebound, rules("", "lab.example:9190")), 0);
}

TEST(TrackerRequest, AnOriginIsSchemeAndHost) {
  EXPECT_TRUE(check_origin("https://lab.example"));
  EXPECT_TRUE(check_origin("http://127.0.0.1:8000"));
  for (const char* text : {"", "lab.example", "https://", "https://lab.example/", "ftp://lab",
                           "https://lab.example/page", "*"}) {
    const Status checked = check_origin(text);
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().kind, ErrorKind::kUser);
    testing::expect_parts(checked.error(), {"--allow-origin", "https://lab.example:8443"});
  }
}

}  // namespace
}  // namespace tapml::tracker
