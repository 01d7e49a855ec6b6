#include "cli/dumps.h"

#include <CLI/CLI.hpp>

#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::cli {

void DumpOptions::add_to(CLI::App& command) {
  command.add_option("--dump-ir", folder,
                     "Folder for the module's text and its changes after each pass");
  command.add_flag("--dump-diff", diff, "Print what each pass changed, as a diff");
}

void Dumps::attach(pipeline::Instruments& instruments) {
  if (!options_.on()) return;
  instruments.dump_folder = options_.folder;
  instruments.diffs = options_.diff;
  instruments.effect = [this](const pipeline::PassEffect& effect) { tell(effect); };
}

void Dumps::tell(const pipeline::PassEffect& effect) {
  const std::string line = pipeline::effect_text(effect);
  if (options_.diff) output_.text(line + "\n" + effect.diff);
  if (!options_.folder.empty()) {
    lines_ += line + "\n";
    // Written as a whole each time: the file is complete up to a pass that ends the program.
    unwrap(write_text_atomic(options_.folder + "/passes.log", lines_));
  }
  Json json = Json::object({{"pass", Json::string(effect.pass)},
                            {"changed", Json::boolean(effect.changed())},
                            {"altered", Json::integer(effect.altered)},
                            {"new", Json::integer(effect.added)},
                            {"gone", Json::integer(effect.removed)},
                            {"attributes", Json::boolean(effect.attributes)},
                            {"seconds", Json::number(effect.seconds)}});
  if (options_.diff) json.set("diff", Json::string(effect.diff));
  effects_.push_back(std::move(json));
}

Json Dumps::json() const { return options_.on() ? Json::array(effects_) : Json(); }

}  // namespace tapml::cli
