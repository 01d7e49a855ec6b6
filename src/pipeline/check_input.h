// Requirements on a module written by a person before passes run on it.
#pragma once

#include <string>

#include "ir/module.h"
#include "text/source_map.h"

namespace tapml::pipeline {

// Checks the numbered invariants and compares every annotation with the deduced one. Throws a
// UserError that names `source` otherwise, also for a module whose memory is already planned. With
// the locations of the parsed text, the error shows the line.
void check_input(const Module& module, const std::string& source,
                 const text::SourceMap* places = nullptr);

// Whether memory is already planned: such a module has VM operators.
bool is_planned(const Module& module);

// Converts a parsed `module` to the form that passes expect: nested expressions become bindings
// (passes/a_normal_form), then runs check_input. Adds the new bindings to `places`.
Module normal_input(const Module& module, const std::string& source,
                    text::SourceMap* places = nullptr);
// The first half: the form of nested expressions that check_input and the printer expect.
Module normal_form(const Module& module, text::SourceMap* places = nullptr);

}  // namespace tapml::pipeline
