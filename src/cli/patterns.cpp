#include "cli/patterns.h"

#include <CLI/CLI.hpp>

#include "build/pattern.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "text/parser.h"

namespace tapml::cli {

void PatternOptions::add_to(CLI::App& command) {
  command.add_option("--patterns", file, "Text module of patterns: each match becomes one kernel");
}

void PatternOptions::apply(Module& module) const {
  if (file.empty()) return;
  text::SourceMap places;
  Module patterns = text::parse(unwrap(read_text_file(file)), file, {.places = &places});
  pipeline::check_input(patterns, file, &places);
  for (const auto& [name, function] : patterns.functions) {
    if (!build::is_pattern(function.get())) {
      throw_user("a file of patterns has something else in it", places.function(name),
                 "functions with the attribute pattern: true", "@" + name);
    }
    if (!module.functions.emplace(name, function).second) {
      throw_user("the module has a function of a pattern's name", places.function(name),
                 "another name", "@" + name);
    }
  }
}

}  // namespace tapml::cli
