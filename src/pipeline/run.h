// Running passes under instruments. Private to pipeline/.
#pragma once

#include "pipeline/compile.h"

namespace tapml::pipeline {

// Runs one step: times it, checks and dumps its result as the instruments say. `number` counts the
// dumps of one compilation.
Module run_pass(const Module& module, const std::string& name,
                const std::function<Module(const Module&)>& pass, const Instruments& instruments,
                int& number);

// Adds the time of a step that makes no Module.
void add_time(const Instruments& instruments, const std::string& name, double seconds);

}  // namespace tapml::pipeline
