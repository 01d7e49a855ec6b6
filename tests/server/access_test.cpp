#include "server/http/access.h"

#include <gtest/gtest.h>

namespace tapml::server {
namespace {

int status(const AccessRules& rules, const HttpRequest& request, bool needs_key = true) {
  const auto refused = refuse_access(rules, request, needs_key);
  return refused ? refused->status : 200;
}

HttpRequest from(const std::string& host, const std::string& origin = "",
                 const std::string& authorization = "") {
  return {.method = "GET",
          .path = "/",
          .query = "",
          .body = "",
          .host = host,
          .origin = origin,
          .authorization = authorization};
}

TEST(Access, OfALoopbackServerIsForLocalNames) {
  const AccessRules rules;
  for (const char* host : {"localhost", "localhost:8080", "127.0.0.1:80", "127.1.2.3", "[::1]:8080",
                           "a.localhost", ""}) {
    EXPECT_EQ(status(rules, from(host)), 200) << host;
  }
  for (const char* host : {"example.com", "localhost.example.com", "[::2]:80", "10.0.0.1"}) {
    EXPECT_EQ(status(rules, from(host)), 403) << host;
    EXPECT_EQ(status({.keys = {}, .origins = {}, .is_loopback = false}, from(host)), 200) << host;
  }
}

TEST(Access, OfPagesIsForTheServersOwnAndAllowedOnes) {
  AccessRules rules;
  EXPECT_EQ(status(rules, from("localhost:80", "http://localhost:80")), 200);
  EXPECT_EQ(status(rules, from("localhost:80", "https://localhost:80")), 200);
  EXPECT_EQ(status(rules, from("localhost:80", "http://localhost:81")), 403);
  EXPECT_EQ(status(rules, from("localhost", "https://a.com")), 403);
  EXPECT_EQ(status(rules, from("localhost", "null")), 403);
  EXPECT_TRUE(origin_headers(rules, from("localhost", "https://a.com")).empty());
  rules.origins = {"https://a.com"};
  EXPECT_EQ(status(rules, from("localhost", "https://a.com")), 200);
  EXPECT_EQ(status(rules, from("localhost", "https://b.com")), 403);
  EXPECT_EQ(origin_headers(rules, from("localhost", "https://a.com")).front().second,
            "https://a.com");
  rules.origins = {"*"};
  EXPECT_EQ(status(rules, from("localhost", "https://b.com")), 200);
}

TEST(Access, NeedsOneOfTheKeys) {
  AccessRules rules;
  rules.keys = {"one", "two"};
  EXPECT_EQ(status(rules, from("localhost", "", "Bearer two")), 200);
  EXPECT_EQ(status(rules, from("localhost", "", "Bearer on")), 401);
  EXPECT_EQ(status(rules, from("localhost", "", "Bearer ones")), 401);
  EXPECT_EQ(status(rules, from("localhost", "", "Bearer ")), 401);
  EXPECT_EQ(status(rules, from("localhost")), 401);
  EXPECT_EQ(status(rules, from("localhost"), /*needs_key=*/false), 200);
}

}  // namespace
}  // namespace tapml::server
