// What a module that a person wrote must satisfy before passes run over it.
#pragma once

#include <string>

#include "ir/module.h"

namespace tapml::pipeline {

// The numbered invariants hold and every annotation agrees with what is deduced. UserError that
// names `source` otherwise, also for a module whose memory is already planned.
void check_input(const Module& module, const std::string& source);

}  // namespace tapml::pipeline
