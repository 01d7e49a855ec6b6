// Carved tests: one real run kept as a test t = (F, I, O) for every kernel call (TapML 2025,
// section 3.2). A suite is self-contained: it holds the kernels' specs, the tensors (identical ones
// once, by content hash) and the calls.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "abi/access.h"
#include "abi/origin.h"
#include "base/result.h"
#include "base/work.h"
#include "tensor/host_tensor.h"

namespace tapml::topdown {

// docs/suite-format.md describes each version.
inline constexpr const char* kSuiteSchema = "tapml-suite";
inline constexpr int64_t kSuiteVersion = 1;

struct SuiteKernel {
  std::string name;
  std::string spec;  // text of a Module with spec and tensor program
  std::vector<std::string> params;
  std::vector<AccessMode> modes;
  int64_t dropped = 0;  // calls of the run that the suite does not keep
};

struct SuiteCall {
  int32_t kernel = 0;
  int64_t sequence = 0;  // position in the run, of the first of identical calls
  int64_t times = 1;     // calls of the run with these inputs and outputs
  std::string function;  // "prefill", ... of the first
  // No call of the runs, but one that carving added, with inputs that the runs did not have.
  bool added = false;
  Origin origin;  // of all of them
  std::vector<int64_t> scalars;
  // Content hashes, one per parameter: before the call (in, inout; else empty) and after it (out,
  // inout; else empty).
  std::vector<std::string> before, after;
};

// A kernel, and the layers of the model that call it.
struct KernelUse {
  std::string kernel;
  Origin origin;
};

// A tensor parameter of a group's call.
struct CallParameter {
  size_t call = 0;   // index into the group's calls
  size_t param = 0;  // index into the parameters of its kernel
  auto operator<=>(const CallParameter&) const = default;
};

// An input of a call that an earlier call of its group wrote: as many elements of one dtype.
struct SuiteLink {
  CallParameter from, to;
};

// A tensor that is an input or output of a group.
struct GroupValue {
  CallParameter place;
  std::string hash;
  std::string name;  // in the words of the group's source
};

// Calls that are tested together, because no reference values exist between them: a trusted source
// that is not a platform of tapml (PyTorch) knows the values between its own modules only. Every
// input of a call is an input of the group, a link, or in its `before`; `after` of the calls is
// empty.
struct SuiteGroup {
  std::string source;     // where the inputs and outputs of the group come from
  std::string carved_on;  // the target whose run gave all other tensors
  int64_t times = 1;
  std::vector<SuiteCall> calls;  // in the order in which they run
  std::vector<SuiteLink> links;
  std::vector<GroupValue> inputs, outputs;
};

struct Suite {
  // Why the suite has only a part of its runs ("interrupted"); empty: it is complete.
  std::string incomplete;
  // Kernels that the carved functions may call and no run called.
  std::vector<KernelUse> untested;
  std::string source;  // target that it was carved on
  std::string fusion_policy;
  std::string model;  // architecture
  std::vector<SuiteKernel> kernels;
  std::vector<SuiteCall> calls;
  std::vector<SuiteGroup> groups;
  std::map<std::string, HostTensor> tensors;  // by content hash
  // Weights that stay in the model's folder and not in the suite's: their names by content hash.
  // `model_folder`: where the model was; `quantization`: how its weights were quantized when it was
  // read (models::Quantization::parse), empty: not.
  std::map<std::string, std::string> weights;
  std::string model_folder, quantization;

  int32_t find_kernel(const std::string& name) const;  // -1: none
  // Each once, in the order in which the group runs them.
  std::vector<std::string> kernels_of(const SuiteGroup& group) const;
};

Origin origin_of(const SuiteGroup& group);

// Identifies a test: kernel, scalars, inputs and outputs.
std::string test_key(const SuiteCall& call);
// The same for groups: calls, links, group inputs and outputs.
std::string test_key(const SuiteGroup& group);
// Hashes of the tensors that the suite's calls and groups name, including weights by reference.
std::set<std::string> named_tensors(const Suite& suite);
std::set<std::string> named_tensors(const SuiteGroup& group);

// The text of suite.json.
std::string suite_text(const Suite& suite);
// Writes tensors/<hash>.safetensors (all that a call names, without weights by reference) and then
// suite.json under `folder`, each file whole or not at all. Removes the tensors of an earlier suite
// after that.
Status save_suite(const Suite& suite, const std::string& folder, const WorkWatcher& watcher = {});

// Where the tensors of a suite come from.
struct SuiteSource {
  // The tensor of a content hash (64 hexadecimal digits).
  std::function<Result<HostTensor>(const std::string& hash)> tensor;
  // False: specs may differ from their recorded hashes, to fuzz the code after the comparison.
  bool check_hashes = true;
};

// Reads the text of a suite.json; `file` names it in errors. Requests each tensor that a call names
// once. Converts older schema versions to this one. UserError for anything altered (by content
// hash), malformed, of a later schema version, or inconsistent (check_suite), and the errors that
// `source` returns.
Result<Suite> parse_suite(std::string_view text, const std::string& file,
                          const SuiteSource& source);

// Reads suite.json alone: `tensors` stays empty, and is not checked.
Result<Suite> parse_suite_index(std::string_view text, const std::string& file,
                                bool check_hashes = true);

// The tensor of a suite in `folder`, compared with its content hash. UserError that names the file
// if it is missing or altered.
Result<HostTensor> load_tensor(const std::string& folder, const std::string& hash);

// Reads what save_suite wrote; weights by reference come from the model in `model`, or, if that is
// empty, in the folder that the suite names. UserError that names the file or the weight for
// anything that parse_suite refuses and for anything missing or altered.
Result<Suite> load_suite(const std::string& folder, const std::string& model = "",
                         const WorkWatcher& watcher = {});

}  // namespace tapml::topdown
