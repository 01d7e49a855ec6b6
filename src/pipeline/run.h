// Runs steps under instruments. Private to pipeline/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "pipeline/instruments.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// Throws an InternalError if a program of a kernel-level step breaks an invariant. Two are allowed
// to fail there: schedules insert one expression, with its bound variables, in several positions
// (T4), and a program in segments does not use the whole tensor (T7).
void verify_programs(const Module& programs, const std::string& step);

// Each function runs one step: times it, and checks and dumps its result according to the
// instruments. `number` is that of the step's dumps.

// Runs a step from module to module.
Module run_pass(const Module& module, const std::string& name,
                const std::function<Module(const Module&)>& pass, const Instruments& instruments,
                int number);

// Runs a step over the programs of kernels; `module` contains these kernels.
void run_kernel_step(const Module& module, const std::vector<LoweredKernel>& kernels,
                     const std::string& name, const std::function<void()>& step,
                     const Instruments& instruments, int number);

// Runs a step that adds to the executable, made from `module`.
void run_executable_step(const Module& module, const Executable& executable,
                         const std::string& name, const std::function<void()>& step,
                         const Instruments& instruments, int number);

}  // namespace tapml::pipeline
