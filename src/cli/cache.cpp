// tapml cache: the compile cache.
#include "app/cache.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

std::string readable_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

struct Command {
  uint64_t max_size = 0;
  bool has_max_size = false;
  bool clear = false;
};

int run(const Command& command, const Output& output) {
  if (cache_switched_off()) {
    throw_user("the compile cache is switched off", "TAPML_CACHE", "a folder, or nothing", "off");
  }
  DiskCache cache({.folder = cache_folder(), .warn = {}});
  int64_t removed = 0;
  if (command.clear) {
    removed = unwrap(cache.clear());
    output.line(std::to_string(removed) + " entries removed");
  }
  if (command.has_max_size) {
    if (command.max_size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw_user("the bound is too large", "--max-size", "fewer than 2^63 bytes");
    }
    unwrap(cache.set_max_bytes(static_cast<int64_t>(command.max_size)));
  }
  DiskCache::Summary summary = cache.summary();
  output.line(summary.folder);
  output.line(std::to_string(summary.entries) + " entries, " + readable_bytes(summary.bytes) +
              " of at most " + readable_bytes(summary.max_bytes));
  output.line(std::to_string(summary.hits) + " hits, " + std::to_string(summary.misses) +
              " misses");
  output.document(Json::object({{"folder", Json::string(summary.folder)},
                                {"entries", Json::integer(summary.entries)},
                                {"bytes", Json::integer(summary.bytes)},
                                {"max_bytes", Json::integer(summary.max_bytes)},
                                {"hits", Json::integer(summary.hits)},
                                {"misses", Json::integer(summary.misses)},
                                {"removed", Json::integer(removed)}}));
  return kDone;
}

}  // namespace

void add_cache(Registration registration) {
  auto* app = registration.app.add_subcommand("cache", "Show, bound or clear the compile cache");
  app->footer("Example: tapml cache --max-size 512MB");
  auto command = std::make_shared<Command>();
  auto* bound = app->add_option("--max-size", command->max_size,
                                "Bound of the folder, from now on: bytes, or 512MB, 2GB")
                    ->transform(CLI::AsSizeValue(false));
  auto* clear = app->add_subcommand("clear", "Remove all entries");
  for (auto* each : {app, clear}) {
    each->add_flag("--json", registration.output.json, "One JSON document on stdout");
  }
  app->callback([command, registration, bound, clear] {
    command->has_max_size = bound->count() > 0;
    command->clear = clear->parsed();
    registration.selected = [command, registration] { return run(*command, registration.output); };
  });
}

}  // namespace tapml::cli
