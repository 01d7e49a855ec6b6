// Executables on disk. An input that starts with an odd byte is a file image, read without checking
// checksums. Any other input is the file's sections, in order and separated by kSeparator: they are
// put into a file with correct checksums and digest, so that the code after these checks is
// reached. Accepted files are written, and read back as the same.
#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "exec/executable_file.h"
#include "exec/sections.h"
#include "finding.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

constexpr SectionFormat kFormat = {
    {'\x89', 'T', 'A', 'P', 'M', 'L', 'X', '\n'}, kExecutableVersion, "an executable"};
constexpr std::string_view kSeparator = "\xffSEC";
constexpr size_t kSections = 8;
constexpr size_t kSignatures = 1, kCode = 7;  // by position

std::vector<std::byte> file_of(std::string_view input) {
  std::vector<Section> sections;
  while (sections.size() < kSections) {
    const size_t end = sections.size() + 1 < kSections ? input.find(kSeparator) : input.npos;
    const std::string_view part = input.substr(0, end);
    const auto* bytes = reinterpret_cast<const std::byte*>(part.data());
    sections.push_back({static_cast<uint32_t>(sections.size() + 1), {bytes, bytes + part.size()}});
    input = end == input.npos ? "" : input.substr(end + kSeparator.size());
  }
  // The machine code's section starts with the digest of the signatures.
  const Sha256Digest digest = sha256(sections[kSignatures].bytes);
  std::vector<std::byte>& code = sections[kCode].bytes;
  code.insert(code.begin(), kSectionAlignment, std::byte{0});
  std::ranges::copy(std::as_bytes(std::span(digest)), code.begin());
  return write_sections(kFormat, sections);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data + 1);
  const std::vector<std::byte> image = data[0] % 2 == 1
                                           ? std::vector<std::byte>(bytes, bytes + size - 1)
                                           : file_of(as_text(data + 1, size - 1));
  Result<ExecutableFile> file = read_executable_unchecked(image, nullptr, "input");
  if (!file) {
    require_user_error(file.error());
    return 0;
  }
  Result<std::vector<std::byte>> written = write_executable(*file);
  if (!written) finding("what was read is not written: " + written.error().to_string());
  Result<ExecutableFile> again = read_executable(*written, nullptr, "written");
  if (!again) finding("what was written is refused: " + again.error().to_string());
  Result<std::vector<std::byte>> twice = write_executable(*again);
  require(twice.has_value() && *twice == *written, "written twice, two files");
  return 0;
}
