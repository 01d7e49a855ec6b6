// Running steps under instruments. Private to pipeline/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "pipeline/instruments.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// InternalError where a program of a kernel-level step breaks an invariant. Two are no defects
// there: schedules put one expression into several places, with the variables that it binds (T4),
// and a program in segments leaves the whole tensor alone (T7).
void verify_programs(const Module& programs, const std::string& step);

// Each runs one step: times it, checks and dumps what it made as the instruments say. `number` is
// that of the step's dumps.

// A step from module to module.
Module run_pass(const Module& module, const std::string& name,
                const std::function<Module(const Module&)>& pass, const Instruments& instruments,
                int number);

// A step over the programs of kernels; `module` is the one that they are of.
void run_kernel_step(const Module& module, const std::vector<LoweredKernel>& kernels,
                     const std::string& name, const std::function<void()>& step,
                     const Instruments& instruments, int number);

// A step that adds to the executable; `module` is what it is made of.
void run_executable_step(const Module& module, const Executable& executable,
                         const std::string& name, const std::function<void()>& step,
                         const Instruments& instruments, int number);

}  // namespace tapml::pipeline
