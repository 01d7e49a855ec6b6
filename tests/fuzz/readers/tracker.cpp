// Requests to the tracker: any bytes are understood, or refused with a status and a reason.
#include "finding.h"
#include "tracker/message.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace http = boost::beast::http;
  http::request_parser<http::empty_body> parser;
  parser.header_limit(tracker::kHeaderBytes);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(data, size), error);
  if (error || !parser.is_header_done()) return 0;
  const tracker::Request request = tracker::request_of(parser.get());
  for (const char* token : {"", "s3cret"}) {
    tracker::Rules rules{token, {"https://lab.example"}, {}};
    rules.endpoint.host = "127.0.0.1";
    rules.endpoint.port = 9190;
    const auto asked = tracker::understand(request, rules);
    if (!asked) {
      require(asked.error().status >= 400 && asked.error().status < 500, "a status of no refusal");
      require(!asked.error().message.empty(), "a refusal without a reason");
      continue;
    }
    require(request.method == "GET", "a request that is not GET");
    require(request.origin.empty() || request.origin == "https://lab.example" ||
                request.origin == "http://" + request.host,
            "a page of another origin");
    if (asked->kind == tracker::Asked::Kind::kStatus) continue;
    require(rpc::is_device_key(asked->key), "a key that is none");
    require(asked->priority >= -100 && asked->priority <= 100, "a priority beyond its limits");
    require(asked->wait.count() >= 0, "a wait below zero");
  }
  return 0;
}
