#include "cli/measure.h"

#include <cstdio>

#include "topdown/profile/ceilings.h"

namespace tapml::cli {

void measure_ceilings(runtime::Session& session, const target::Target& target, const Output& output,
                      Json& json) {
  const topdown::Ceilings ceilings = topdown::measure_ceilings(session, target);
  char text[96];
  std::snprintf(text, sizeof text, "  ceilings: %.1f GFLOP/s f32, %.1f GB/s",
                1e-9 * ceilings.flops_per_s, 1e-9 * ceilings.bytes_per_s);
  output.line(text);
  json.set("ceilings", Json::object({{"flops_per_s", Json::number(ceilings.flops_per_s)},
                                     {"bytes_per_s", Json::number(ceilings.bytes_per_s)}}));
}

}  // namespace tapml::cli
