// tapml devices: every platform, here or not.
#include <CLI/CLI.hpp>

#include "app/platforms.h"
#include "cli/command.h"
#include "topdown/profile.h"

namespace tapml::cli {

namespace {

// Streaming and arithmetic at their best, measured now.
void measure(const std::string& platform, const Output& output, Json& json) {
  auto session = open_session(target::parse_target(platform));
  topdown::Ceilings ceilings = topdown::measure_ceilings(*session, platform);
  char text[96];
  std::snprintf(text, sizeof text, "  ceilings: %.1f GFLOP/s f32, %.1f GB/s",
                1e-9 * ceilings.flops_per_s, 1e-9 * ceilings.bytes_per_s);
  output.line(text);
  json.set("ceilings", Json::object({{"flops_per_s", Json::number(ceilings.flops_per_s)},
                                     {"bytes_per_s", Json::number(ceilings.bytes_per_s)}}));
}

int run(const Output& output, bool measured) {
  std::vector<Json> list;
  for (const PlatformStatus& status : list_platforms()) {
    output.line(status.platform + ": " + (status.here ? "here" : "not here") + " - " + status.doc);
    Json json = platform_json(status);
    if (status.here) {
      const DeviceInfo& info = status.info;
      output.line("  device: " + info.name + ", " + info.version);
      output.line("  limits: " + std::to_string(info.limits.threads) + " threads, work group " +
                  std::to_string(info.limits.max_workgroup_threads) + ", local memory " +
                  std::to_string(info.limits.max_local_memory) + " bytes, allocation " +
                  std::to_string(info.limits.max_allocation_bytes) + " bytes");
      output.line("  computes: " + dtype_list(info.features.compute_dtypes));
      output.line("  stores: " + dtype_list(info.features.storage_dtypes));
      // A device that runs nothing has no speed.
      if (measured && status.platform != "null") measure(status.platform, output, json);
    } else {
      output.line("  why: " + status.reason);
    }
    list.push_back(std::move(json));
  }
  output.document(Json::object({{"platforms", Json::array(std::move(list))}}));
  return kDone;
}

}  // namespace

void add_devices(Registration registration) {
  auto* command = registration.app.add_subcommand("devices", "List the platforms");
  command->footer("Example: tapml devices --json");
  command->add_flag("--json", registration.output.json, "One JSON document on stdout");
  auto measured = std::make_shared<bool>(false);
  command->add_flag("--measure", *measured, "Measure each platform's ceilings (seconds)");
  command->callback([registration, measured] {
    registration.selected = [registration, measured] {
      return run(registration.output, *measured);
    };
  });
}

}  // namespace tapml::cli
