// The text form of modules. Accepted text is printed; the output parses to an equal module with an
// equal hash and prints as the same text. The verifier accepts it or reports an error.
#include "analysis/verifier.h"
#include "finding.h"
#include "ir/exceptions.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

void round_trip(const Module& module) {
  text::SideTensors side;
  const std::string printed = text::print(module, &side);
  auto again = guard([&] { return text::parse(printed, "printed", {.side = &side}); });
  if (!again) finding("what was printed does not parse: " + again.error().to_string());
  std::string difference;
  if (!text::structural_equal(module, *again, {.origins = true, .difference = &difference})) {
    finding("what was printed reads as another module: " + difference);
  }
  require(text::structural_hash(module) == text::structural_hash(*again), "the hash changed");
  require(text::print(*again) == printed, "printed twice, two texts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  text::SourceMap places;
  auto module =
      guard([&] { return text::parse(as_text(data, size), "input", {.places = &places}); });
  if (!module) {
    require_user_error(module.error());
    return 0;
  }
  round_trip(*module);
  auto checked = guard([&] { analysis::verify_input(*module, "input", &places); });
  if (!checked) require_user_error(checked.error());
  return 0;
}
