#include "cli/watch.h"

#include <chrono>

#include "base/host/interrupt.h"
#include "io/host/folder_watch.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"

namespace tapml::cli {

namespace {

constexpr std::chrono::milliseconds kPoll{200};

// Tests the kernel with its current source.
topdown::KernelVerdict replay_once(const topdown::Suite& suite, topdown::KernelReference& reference,
                                   const std::string& kernel, const std::string& folder,
                                   topdown::Sandbox& sandbox) {
  const target::Target& target = sandbox.target();
  Module alone = passes::kernel_alone(reference.module(), kernel);
  alone.facts = reference.module().facts;
  alone.attrs = reference.module().attrs;
  std::vector<topdown::CustomSource> sources = topdown::read_custom_sources(folder, target);
  std::erase_if(sources, [&](const topdown::CustomSource& source) {
    return !topdown::names_kernel(source, kernel);
  });
  const topdown::CustomKernels user(std::move(sources), alone);
  if (user.empty()) {
    throw_user("no source implements kernel " + kernel, folder,
               "a *" + topdown::custom_source_ending(target) + " with this kernel in its header",
               "none");
  }
  pipeline::ImplementOptions implement;
  implement.foreign = user.compile(alone, target, interrupted);
  sandbox.refresh();  // much time may have passed since the last save
  user.check(implement.foreign, target, sandbox.session());
  sandbox.load(pipeline::implement(alone, target, implement));
  return unwrap(topdown::replay_kernel(suite, reference, suite.find_kernel(kernel), sandbox));
}

std::string verdict_line(const topdown::KernelVerdict& verdict) {
  std::string line = verdict.kernel + ": " + topdown::verdict_outcome(verdict);
  if (verdict.failed == topdown::Failure::kNone) {
    line += ", error " + topdown::number(verdict.worst.target.max_abs) + ", allowed " +
            topdown::number(verdict.worst.allowed);
  } else {
    line += ": " + verdict.failure;
  }
  if (const std::string open = topdown::open_text(verdict); !open.empty())
    line += " (" + open + ")";
  if (!verdict.note.empty()) line += " (" + verdict.note + ")";
  return line + ", " + topdown::seconds(verdict.seconds) + ", " + topdown::user_file(verdict);
}

}  // namespace

void watch_kernel(const topdown::Suite& suite, topdown::KernelReference& reference,
                  const std::string& kernel, const std::string& folder, topdown::Sandbox& sandbox,
                  const Output& output) {
  const std::unique_ptr<FolderWatch> watch = unwrap(FolderWatch::open(folder));
  const std::string ending = topdown::custom_source_ending(sandbox.target());
  for (;;) {
    auto verdict = guard([&] { return replay_once(suite, reference, kernel, folder, sandbox); });
    unwrap(check_interrupted());
    if (verdict) {
      output.text(verdict_line(*verdict) + "\n");
    } else {
      const Error& error = verdict.error();
      if (error.kind != ErrorKind::kUser && !sandbox.contains(error)) throw_error(error);
      output.text(kernel + ": " + topdown::indented(error.to_string()) + "\n");
      // The state of a session that rejected a module is unknown.
      if (sandbox.isolated()) sandbox.restart();
    }
    for (bool saved = false; !saved;) {
      for (const std::string& name : watch->wait(kPoll)) {
        saved |= name.empty() || name.ends_with(ending);
      }
      unwrap(check_interrupted());
    }
  }
}

}  // namespace tapml::cli
