#include "pipeline/run.h"

#include <cstdio>
#include <filesystem>

#include "analysis/verifier.h"
#include "base/clock.h"
#include "build/block_builder.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/executable_text.h"
#include "pipeline/kernel_programs.h"
#include "text/printer.h"

namespace tapml::pipeline {

namespace {

bool is_shown(const Instruments& instruments) {
  return !instruments.dump_folder.empty() || instruments.effect;
}

// Path of a step's dumps, without the extension.
std::string dump_path(const Instruments& instruments, const PassEffect& effect) {
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "/%02d_", effect.number);
  return instruments.dump_folder + prefix + effect.pass;
}

void write_dump(const Instruments& instruments, const std::string& path, const std::string& text) {
  unwrap(make_folder(instruments.dump_folder));
  unwrap(write_text_atomic(path, text));
}

// Writes the texts and reports what changed.
void show(const Module& before, const Module& after, const std::string& name, int number,
          double seconds, const Instruments& instruments) {
  PassEffect effect = pass_effect(before, after);
  effect.number = number;
  effect.pass = name;
  effect.seconds = seconds;
  const bool dumped = !instruments.dump_folder.empty();
  if (effect.changed() && (dumped || instruments.diffs)) {
    effect.diff = module_diff(before, after, "before " + effect.pass, "after " + effect.pass);
  }
  if (dumped) {
    const std::string path = dump_path(instruments, effect);
    write_dump(instruments, path + ".txt", text::print(after));
    // Remove a dump of an earlier compilation, which may belong to another pass.
    std::error_code ignored;
    std::filesystem::remove(path + ".diff", ignored);
    if (!effect.diff.empty()) write_dump(instruments, path + ".diff", effect.diff);
  }
  if (!instruments.diffs) effect.diff.clear();
  if (instruments.effect) instruments.effect(effect);
}

// Runs the step and reports its time to the instruments.
double timed(const Instruments& instruments, const std::string& name,
             const std::function<void()>& step) {
  if (instruments.poll) instruments.poll();
  const double start = seconds_now();
  step();
  const double seconds = seconds_now() - start;
  if (instruments.times) instruments.times->emplace_back(name, seconds);
  return seconds;
}

}  // namespace

void verify_programs(const Module& programs, const std::string& step) {
  for (const analysis::Violation& violation : analysis::find_violations(programs)) {
    if (violation.invariant == "T7" || violation.message.ends_with("is bound twice")) continue;
    throw_internal("a kernel's program breaks invariant " + violation.to_string(),
                   "after pass " + step);
  }
}

Module run_pass(const Module& module, const std::string& name,
                const std::function<Module(const Module&)>& pass, const Instruments& instruments,
                int number) {
  Module result;
  const double seconds = timed(instruments, name, [&] { result = pass(module); });
  if (instruments.rewrite) result = instruments.rewrite(name, std::move(result));
  if (is_shown(instruments)) show(module, result, name, number, seconds, instruments);
  if (instruments.after) instruments.after(name, result);
  if (instruments.verify) {
    analysis::verify(result, name);
    // VM operators have no annotation deduction.
    if (!is_planned(result)) build::check_annotations(result, name);
  }
  return result;
}

void run_kernel_step(const Module& module, const std::vector<LoweredKernel>& kernels,
                     const std::string& name, const std::function<void()>& step,
                     const Instruments& instruments, int number) {
  const bool shown = is_shown(instruments);
  const Module before = shown ? kernel_programs(kernels) : Module();
  const double seconds = timed(instruments, name, step);
  if (shown) show(before, kernel_programs(kernels), name, number, seconds, instruments);
  if (instruments.after) instruments.after(name, with_kernel_programs(module, kernels));
  if (instruments.verify) verify_programs(kernel_programs(kernels), name);
}

void run_executable_step(const Module& module, const Executable& executable,
                         const std::string& name, const std::function<void()>& step,
                         const Instruments& instruments, int number) {
  PassEffect effect;
  effect.number = number;
  effect.pass = name;
  effect.executable = true;
  effect.seconds = timed(instruments, name, step);
  if (!instruments.dump_folder.empty()) {
    write_dump(instruments, dump_path(instruments, effect) + ".log", executable_text(executable));
  }
  if (instruments.effect) instruments.effect(effect);
  if (instruments.after) instruments.after(name, module);
}

}  // namespace tapml::pipeline
