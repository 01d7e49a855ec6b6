// The Python process in which another compiler runs; it may crash, hang and eat memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/campaign/line_channel.h"
#include "fuzz/external/adapters.h"
#include "fuzz/external/straight_line.h"
#include "fuzz/oracles/problem.h"
#include "io/host/scratch_folder.h"

namespace tapml::fuzz {

struct AdapterOptions {
  Adapter adapter;
  std::string python = "python3";
  double seconds = 60;  // for one program
  int64_t memory_bytes = int64_t{8} << 30;
};

// One way to compile and run a program, in the order of the adapter, the least optimized first.
struct FormResult {
  std::string form;   // "all"
  std::string error;  // that it reports; empty: it ran
  std::vector<HostTensor> outputs;
};

struct AdapterAnswer {
  std::vector<FormResult> forms;
  std::optional<Problem> ended;  // the process crashed or hung, in the form of its stage
};

// For one thread.
class AdapterProcess {
 public:
  explicit AdapterProcess(AdapterOptions options);

  // The name and version of what it runs: "onnxruntime 1.32.0". UserError, with the command that
  // installs it, if it is not there.
  std::string version();
  // The steps that the compiler cannot express or refuses even when they are alone, with the
  // reasons. `ending` receives the first step that ends the process when it is alone, unless one of
  // its kind has done so before.
  std::map<std::string, std::string> inexpressible(const Json& document,
                                                   std::string* ending = nullptr);
  // Compiles and runs all forms.
  AdapterAnswer run(const Json& document);
  // The program as a file of the compiler's API, which compares with the expected values.
  std::string script(const StraightLine& line, const Problem& problem);

 private:
  Status ensure();
  Result<Json> ask(const Json& request, std::vector<Json>* parts = nullptr);
  Problem ended(const Error& error);

  AdapterOptions options_;
  ScratchFolder folder_;
  std::unique_ptr<WorkerProcess> process_;
  std::string version_, part_, kind_;
  std::set<std::string> ended_kinds_;  // of steps that end the process when they are alone
};

}  // namespace tapml::fuzz
