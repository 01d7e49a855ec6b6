// tapml devices: every platform, here or not.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/platforms.h"
#include "topdown/profile.h"

namespace tapml::cli {

namespace {

std::string dtypes(const std::set<DType>& set) {
  std::string text;
  for (DType dtype : set) text += (text.empty() ? "" : " ") + std::string(dtype_name(dtype));
  return text;
}

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
    Json json = Json::object({{"platform", Json::string(status.platform)},
                              {"here", Json::boolean(status.here)},
                              {"doc", Json::string(status.doc)}});
    if (status.here) {
      const DeviceInfo& info = status.info;
      output.line("  device: " + info.name + ", " + info.version);
      output.line("  limits: " + std::to_string(info.limits.threads) + " threads, work group " +
                  std::to_string(info.limits.max_workgroup_threads) + ", local memory " +
                  std::to_string(info.limits.max_local_memory) + " bytes, allocation " +
                  std::to_string(info.limits.max_allocation_bytes) + " bytes");
      output.line("  computes: " + dtypes(info.features.compute_dtypes));
      output.line("  stores: " + dtypes(info.features.storage_dtypes));
      json.set("name", Json::string(info.name));
      json.set("version", Json::string(info.version));
      json.set("limits",
               Json::object(
                   {{"threads", Json::integer(info.limits.threads)},
                    {"max_workgroup_threads", Json::integer(info.limits.max_workgroup_threads)},
                    {"max_local_memory", Json::integer(info.limits.max_local_memory)},
                    {"max_binding_bytes", Json::integer(info.limits.max_binding_bytes)},
                    {"max_allocation_bytes", Json::integer(info.limits.max_allocation_bytes)}}));
      json.set("compute_dtypes", Json::string(dtypes(info.features.compute_dtypes)));
      json.set("storage_dtypes", Json::string(dtypes(info.features.storage_dtypes)));
      // A device that runs nothing has no speed.
      if (measured && status.platform != "null") measure(status.platform, output, json);
    } else {
      output.line("  why: " + status.reason);
      json.set("reason", Json::string(status.reason));
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
