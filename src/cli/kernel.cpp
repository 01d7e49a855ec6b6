// tapml kernel: help for those who write kernels of their own.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/replay/replay.h"

namespace tapml::cli {

namespace {

struct SkeletonOptions {
  std::string suite, kernel, target = "opencl", file;
};

// The kernel of exactly this name, or the only one whose name begins so.
std::string find_kernel(const topdown::Suite& suite, const std::string& name) {
  if (suite.find_kernel(name) >= 0) return name;
  std::vector<std::string> begin;
  std::string known;
  for (const auto& kernel : suite.kernels) {
    if (kernel.name.starts_with(name)) begin.push_back(kernel.name);
    known += (known.empty() ? "" : ", ") + kernel.name;
  }
  if (begin.size() == 1) return begin[0];
  throw_user(
      begin.empty() ? "the suite has no such kernel" : "several kernels of the suite begin so",
      "NAME", "one of " + known, name);
}

int run(const SkeletonOptions& options, const Output& output) {
  const target::Target target = target::parse_target(options.target);
  // No tensor is needed, so that it does not matter where weights by reference are.
  const std::string file = options.suite + "/suite.json";
  const topdown::Suite suite =
      unwrap(topdown::parse_suite_index(unwrap(read_text_file(file)), file));
  const std::string kernel = find_kernel(suite, options.kernel);
  const topdown::Judge judge(suite);
  const std::string text = topdown::kernel_skeleton(judge.module(), kernel, target);
  if (options.file.empty()) {
    output.text(text);
  } else {
    unwrap(write_text_atomic(options.file, text));
    output.line(options.file);
  }
  output.document(Json::object({{"kernel", Json::string(kernel)},
                                {"target", Json::string(options.target)},
                                {"file", Json::string(options.file)},
                                {"text", Json::string(text)}}));
  return kDone;
}

}  // namespace

void add_kernel(Registration registration) {
  auto* command = registration.app.add_subcommand("kernel", "Help for kernels of one's own");
  command->require_subcommand(1);
  command->footer("Example: tapml kernel skeleton out/suite rms_norm_485247dc --target opencl");
  auto* skeleton =
      command->add_subcommand("skeleton", "Print a source for a kernel of a suite to begin with");
  skeleton->footer(
      "Example: tapml kernel skeleton out/suite rms_norm_485247dc --target opencl -o "
      "kernels/rms.cl");
  auto options = std::make_shared<SkeletonOptions>();
  skeleton->add_option("suite", options->suite, "Folder of the suite")->required();
  skeleton->add_option("name", options->kernel, "The kernel, or how its name begins")->required();
  skeleton->add_option("--target", options->target, "kind[:key=value,...]")->capture_default_str();
  skeleton->add_option("-o,--output", options->file, "File; standard output without it");
  skeleton->add_flag("--json", registration.output.json, "One JSON document on stdout");
  skeleton->callback([options, registration] {
    registration.selected = [options, registration] { return run(*options, registration.output); };
  });
}

}  // namespace tapml::cli
