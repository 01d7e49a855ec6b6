// Requests for files: paths stay below their folder, and ranges within their file.
#include <algorithm>
#include <filesystem>

#include "finding.h"
#include "server/files/byte_range.h"
#include "server/files/static_files.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  const size_t line = std::min(text.find('\n'), text.size());
  if (const auto parts = server::path_parts(text.substr(0, line))) {
    std::filesystem::path path = "/root";
    for (const std::string& part : *parts) path /= part;
    require(path.lexically_normal().string().starts_with("/root"), "a path that leaves its folder");
    require(path.string().find('\0') == std::string::npos, "a zero within a path");
    for (const auto& part : path) require(part != "..", "a part that leads up");
  }
  const std::string_view header = text.substr(std::min(line + 1, text.size()));
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{1} << 62}) {
    const server::ByteRange range = server::parse_range(header, bytes);
    if (range.kind == server::ByteRange::Kind::kUnsatisfiable) continue;
    require(range.begin >= 0 && range.begin <= range.end && range.end <= bytes,
            "a range beyond its file");
    require(range.kind == server::ByteRange::Kind::kWhole || range.begin < range.end,
            "an empty part");
  }
  return 0;
}
