// Kernel-level steps as module passes, for `tapml opt`. Private to pipeline/.
#pragma once

#include "ir/module.h"
#include "target/target.h"

namespace tapml::pipeline {

Module omit_unsupported_for(const Module& module, const target::Target& target);
// These process the tensor program of every kernel.
Module schedule_for_target(const Module& module, const target::Target& target);
Module lower_math_for_target(const Module& module, const target::Target& target);
// UserError for a hand-written program that exceeds the target's features; otherwise `module`.
Module check_programs_for_target(const Module& module, const target::Target& target);

}  // namespace tapml::pipeline
