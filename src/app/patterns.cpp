#include "app/patterns.h"

#include "build/pattern.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "text/parser.h"

namespace tapml::app {

namespace {

Module read_patterns(const std::string& file, text::SourceMap& places) {
  Module patterns = pipeline::normal_input(
      text::parse(unwrap(read_text_file(file)), file, {.places = &places}), file, &places);
  for (const auto& [name, function] : patterns.functions) {
    if (build::is_pattern(function.get())) continue;
    throw_user("a file of patterns contains another function", places.function(name),
               "functions with the attribute pattern: true", "@" + name);
  }
  return patterns;
}

}  // namespace

Module PatternOptions::read() const {
  text::SourceMap places;
  return file.empty() ? Module() : read_patterns(file, places);
}

void PatternOptions::apply(Module& module) const {
  if (file.empty()) return;
  text::SourceMap places;
  for (const auto& [name, function] : read_patterns(file, places).functions) {
    if (!module.functions.emplace(name, function).second) {
      throw_user("a pattern has the name of a function of the module", places.function(name),
                 "another name", "@" + name);
    }
  }
}

}  // namespace tapml::app
