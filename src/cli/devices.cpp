// tapml devices: every platform, here or not.
#include <CLI/CLI.hpp>

#include "app/platforms.h"
#include "cli/command.h"

namespace tapml::cli {

namespace {

int run(const Output& output, MeasureDevice measure) {
  std::vector<Json> list;
  for (const PlatformStatus& status : list_platforms()) {
    output.line(status.platform + ": " + (status.here ? "here" : "not here") + " - " + status.doc);
    Json json = platform_json(status);
    if (status.here) {
      const DeviceInfo& info = status.info;
      output.line("  device: " + info.name + ", " + info.version);
      if (!info.cpu.empty()) {
        output.line("  processor: " + info.cpu +
                    (info.cpu_features.empty() ? "" : " with " + info.cpu_features));
      }
      output.line("  limits: " + std::to_string(info.limits.threads) + " threads, work group " +
                  std::to_string(info.limits.max_workgroup_threads) + ", local memory " +
                  std::to_string(info.limits.max_local_memory) + " bytes, allocation " +
                  std::to_string(info.limits.max_allocation_bytes) + " bytes");
      output.line("  computes: " + dtype_list(info.features.compute_dtypes));
      output.line("  stores: " + dtype_list(info.features.storage_dtypes));
      // A device that runs nothing has no speed.
      if (measure && status.platform != "null") measure(status.platform, output, json);
    } else {
      output.line("  why: " + status.reason);
    }
    list.push_back(std::move(json));
  }
  output.document(Json::object({{"platforms", Json::array(std::move(list))}}));
  return kDone;
}

}  // namespace

void add_devices(Registration registration, MeasureDevice measure) {
  auto* command = registration.app.add_subcommand("devices", "List the platforms");
  command->footer("Example: tapml devices --json");
  command->add_flag("--json", registration.output.json, "One JSON document on stdout");
  auto measured = std::make_shared<bool>(false);
  if (measure) {
    command->add_flag("--measure", *measured, "Measure each platform's ceilings (seconds)");
  }
  command->callback([registration, measured, measure] {
    registration.selected = [registration, measured, measure] {
      return run(registration.output, *measured ? measure : nullptr);
    };
  });
}

}  // namespace tapml::cli
