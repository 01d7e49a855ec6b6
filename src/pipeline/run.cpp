#include "pipeline/run.h"

#include <cstdio>

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

Module run_pass(const Module& module, const std::string& name,
                const std::function<Module(const Module&)>& pass, const Instruments& instruments,
                int& number) {
  if (instruments.poll) instruments.poll();
  double start = seconds_now();
  Module result = pass(module);
  add_time(instruments, name, seconds_now() - start);
  if (instruments.rewrite) result = instruments.rewrite(name, std::move(result));
  ++number;
  if (!instruments.dump_folder.empty()) {
    char prefix[16];
    std::snprintf(prefix, sizeof prefix, "%02d_", number);
    unwrap(make_folder(instruments.dump_folder));
    unwrap(write_text_atomic(instruments.dump_folder + "/" + prefix + name + ".txt",
                             text::print(result)));
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
