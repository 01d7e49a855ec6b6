// tapml cache: the compile cache.
#include "app/cache.h"

#include <CLI/CLI.hpp>

#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/sizes.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

struct Command {
  std::string max_size;
  bool clear = false;
};

int run(const Command& command, const Output& output) {
  if (cache_switched_off()) {
    throw_user("the compile cache is switched off", "TAPML_CACHE", "a folder, or nothing", "off");
  }
  const int64_t max_bytes =
      command.max_size.empty() ? 0 : parse_size(command.max_size, "--max-size");
  DiskCache cache({.folder = cache_folder(), .warn = {}});
  unwrap(cache.check());
  int64_t removed = 0;
  if (command.clear) {
    removed = unwrap(cache.clear());
    output.line(std::to_string(removed) + " entries removed");
  }
  if (!command.max_size.empty()) unwrap(cache.set_max_bytes(max_bytes));
  DiskCache::Summary summary = cache.summary();
  output.line(summary.folder);
  output.line(std::to_string(summary.entries) + " entries, " + size_text(summary.bytes) +
              " of at most " + size_text(summary.max_bytes));
  output.line(counted(summary.hits, "hit") + ", " + std::to_string(summary.misses) + " misses");
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
  auto* app = registration.app.add_subcommand("cache", "Show, limit or clear the compile cache");
  app->footer("Example: tapml cache --max-size 512MB");
  auto command = std::make_shared<Command>();
  app->add_option("--max-size", command->max_size,
                  "Largest size of the cache from now on, such as 512MB");
  auto* clear = app->add_subcommand("clear", "Remove all entries of the compile cache");
  add_json(*clear, registration.output);
  set_runner(*app, registration, [command, registration, clear] {
    command->clear = clear->parsed();
    return run(*command, registration.output);
  });
}

}  // namespace tapml::cli
