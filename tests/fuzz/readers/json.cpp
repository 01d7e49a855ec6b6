// The JSON reader: accepted text is written and read back unchanged, on one line and indented.
#include "io/json.h"

#include "finding.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<Json> json = parse_json(as_text(data, size), "input");
  if (!json) {
    require_user_error(json.error());
    return 0;
  }
  const std::string line = json->dump();
  for (int indent : {-1, 2}) {
    Result<Json> again = parse_json(json->dump(indent), "written");
    if (!again) finding("what was written does not parse: " + again.error().to_string());
    require(again->dump() == line, "what was written reads as something else");
  }
  return 0;
}
