// Files over HTTP: the pages that run models in a browser, and the packages that they load.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/access.h"
#include "server/http/exchange.h"

namespace tapml::server {

struct StaticOptions {
  std::string pages;                          // a folder; files of the web's types are served
  std::map<std::string, std::string> models;  // name ▸ folder, all of whose files are served
  std::string home;                           // what "/" leads to: "/device"
  AccessRules access;
};

// Answers GET and HEAD, whole or by range, with a tag by which clients keep what has not changed:
//   /NAME.html, /NAME        a page
//   /models/index.json       [{"name": ...}]
//   /models/NAME/FILE        a file of a package
// Pages are isolated from other origins, as shared memory requires. Hidden files, and what links
// lead to beyond a folder, are not served.
class StaticFiles {
 public:
  explicit StaticFiles(StaticOptions options) : options_(std::move(options)) {}
  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) const;

 private:
  const StaticOptions options_;
};

// The parts of a path between its slashes, decoded. Nothing for a path that does not begin with a
// slash or is not percent-encoded text, and for one with an empty or hidden part, "..", a slash or
// a zero within a part.
std::optional<std::vector<std::string>> path_parts(std::string_view path);

}  // namespace tapml::server
