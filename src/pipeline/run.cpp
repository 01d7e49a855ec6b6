#include "pipeline/run.h"

#include <cstdio>
#include <filesystem>

#include "analysis/verifier.h"
#include "base/clock.h"
#include "build/block_builder.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "text/printer.h"

namespace tapml::pipeline {

void add_time(const Instruments& instruments, const std::string& name, double seconds) {
  if (instruments.times) instruments.times->emplace_back(name, seconds);
}

namespace {

std::string numbered(int number, const std::string& name) {
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%02d_", number);
  return prefix + name;
}

// Writes the texts, and tells what changed.
void show(const Module& before, const Module& after, PassEffect effect,
          const Instruments& instruments) {
  const std::string file = numbered(effect.number, effect.pass);
  const bool dumped = !instruments.dump_folder.empty();
  if (effect.changed() && (dumped || instruments.diffs)) {
    effect.diff = module_diff(before, after, "before " + effect.pass, "after " + effect.pass);
  }
  if (dumped) {
    const std::string path = instruments.dump_folder + "/" + file;
    unwrap(make_folder(instruments.dump_folder));
    unwrap(write_text_atomic(path + ".txt", text::print(after)));
    // One of an earlier compilation would tell of another pass.
    std::error_code ignored;
    std::filesystem::remove(path + ".diff", ignored);
    if (!effect.diff.empty()) unwrap(write_text_atomic(path + ".diff", effect.diff));
  }
  if (!instruments.diffs) effect.diff.clear();
  if (instruments.effect) instruments.effect(effect);
}

}  // namespace

Module run_pass(const Module& module, const std::string& name,
                const std::function<Module(const Module&)>& pass, const Instruments& instruments,
                int& number) {
  if (instruments.poll) instruments.poll();
  const double start = seconds_now();
  Module result = pass(module);
  const double seconds = seconds_now() - start;
  add_time(instruments, name, seconds);
  if (instruments.rewrite) result = instruments.rewrite(name, std::move(result));
  ++number;
  if (!instruments.dump_folder.empty() || instruments.effect) {
    PassEffect effect = pass_effect(module, result);
    effect.number = number;
    effect.pass = name;
    effect.seconds = seconds;
    show(module, result, std::move(effect), instruments);
  }
  if (instruments.after) instruments.after(name, result);
  if (instruments.verify) {
    analysis::verify(result, name);
    // The operators of planned memory deduce nothing.
    if (!is_planned(result)) build::check_annotations(result, name);
  }
  return result;
}

}  // namespace tapml::pipeline
