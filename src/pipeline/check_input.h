// What a module that a person wrote must satisfy before passes run over it.
#pragma once

#include <string>

#include "ir/module.h"
#include "text/source_map.h"

namespace tapml::pipeline {

// The numbered invariants hold and every annotation agrees with what is deduced. UserError that
// names `source` otherwise, also for a module whose memory is already planned; with the places of
// the parsed text it shows the line.
void check_input(const Module& module, const std::string& source,
                 const text::SourceMap* places = nullptr);

// Whether memory is planned already: such a module has the virtual machine's operators.
bool is_planned(const Module& module);

// `module`, as it was parsed, in the form that passes expect: nested expressions become bindings
// (passes/a_normal_form), then check_input. Bindings that come of it are added to `places`.
Module normal_input(const Module& module, const std::string& source,
                    text::SourceMap* places = nullptr);
// The first half: what check_input and the printer see of nested expressions.
Module normal_form(const Module& module, text::SourceMap* places = nullptr);

}  // namespace tapml::pipeline
