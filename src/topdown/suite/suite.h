// Carved tests: one real run kept as a test t = (F, I, O) for every kernel call (TapML 2025,
// section 3.2). A suite needs nothing else to be replayed: it holds the kernels' specs, the
// tensors (identical ones once, by content hash) and the calls.
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

// docs/suite-format.md says what each version has.
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
  int64_t sequence = 0;  // position in the run, of the first where there were several like it
  int64_t times = 1;     // calls of the run with these inputs and outputs
  std::string function;  // "prefill", ... of the first
  Origin origin;         // of all of them
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

// What a call reads of what an earlier one of its group wrote: as many elements of one dtype.
struct SuiteLink {
  CallParameter from, to;
};

// A tensor at a border of a group.
struct GroupValue {
  CallParameter place;
  std::string hash;
  std::string name;  // of the border, in the words of the group's source
};

// Calls that are one test, because nothing says what is right between them: a trusted source that
// is no platform of tapml (PyTorch) knows the borders of its own modules only. Whatever a call
// reads is a border's, linked, or in its `before`; nothing of the calls is in `after`.
struct SuiteGroup {
  std::string source;     // whose the tensors at the borders are
  std::string carved_on;  // the target whose run all others are from
  int64_t times = 1;
  std::vector<SuiteCall> calls;  // in the order in which they run
  std::vector<SuiteLink> links;
  std::vector<GroupValue> inputs, outputs;
};

struct Suite {
  // Why it has a part of its runs only ("interrupted"); empty: it is complete.
  std::string incomplete;
  // What the carved functions may call and no run called.
  std::vector<KernelUse> untested;
  std::string source;  // target that it was carved on
  std::string fusion_policy;
  std::string model;  // architecture
  std::vector<SuiteKernel> kernels;
  std::vector<SuiteCall> calls;
  std::vector<SuiteGroup> groups;
  std::map<std::string, HostTensor> tensors;  // by content hash
  // Tensors that are the model's weights, and lie there and not in the suite's folder: the weight's
  // name by content hash. `model_folder`: where the model was; `quantization`: how its weights were
  // quantized when it was read (models::quantization_table), empty: not.
  std::map<std::string, std::string> weights;
  std::string model_folder, quantization;

  int32_t find_kernel(const std::string& name) const;  // -1: none
  // Each once, in the order in which the group runs them.
  std::vector<std::string> kernels_of(const SuiteGroup& group) const;
};

Origin origin_of(const SuiteGroup& group);

// What makes a call the same test as another: kernel, scalars, inputs and outputs.
std::string test_key(const SuiteCall& call);
// The same of groups: calls, links and borders.
std::string test_key(const SuiteGroup& group);
// Hashes of the tensors that the suite's calls and groups name, weights by reference included.
std::set<std::string> named_tensors(const Suite& suite);
std::set<std::string> named_tensors(const SuiteGroup& group);

// The text of suite.json.
std::string suite_text(const Suite& suite);
// Writes tensors/<hash>.safetensors (all that a call names, without weights by reference) and
// suite.json under `folder`, each file whole or not at all; suite.json comes last. Tensors of a
// suite that was there before are removed then.
Status save_suite(const Suite& suite, const std::string& folder, const WorkWatcher& watcher = {});

// Where the tensors of a suite come from.
struct SuiteSource {
  // The tensor of a content hash (64 hexadecimal digits).
  std::function<Result<HostTensor>(const std::string& hash)> tensor;
  // False: specs may differ from their recorded hash. For fuzzing what lies behind the comparison.
  bool check_hashes = true;
};

// Reads the text of a suite.json; `file` names it in errors. Each tensor that a call names is asked
// for once. Older schema versions are brought up to this one. UserError for anything altered (by
// content hash), malformed, of a later schema version, or that does not fit together (check_suite),
// and what `source` returns.
Result<Suite> parse_suite(std::string_view text, const std::string& file,
                          const SuiteSource& source);

// suite.json alone: `tensors` stays empty, and nothing is known of how they fit.
Result<Suite> parse_suite_index(std::string_view text, const std::string& file,
                                bool check_hashes = true);

// The tensor of a suite in `folder`, compared with its content hash. UserError that names the file
// where it is missing or altered.
Result<HostTensor> load_tensor(const std::string& folder, const std::string& hash);

// Reads what save_suite wrote; weights that are no part of it come from the model in `model`, or
// where that is empty in the folder that the suite names. UserError that names the file or the
// weight for anything that parse_suite refuses and for what is missing or altered.
Result<Suite> load_suite(const std::string& folder, const std::string& model = "",
                         const WorkWatcher& watcher = {});

}  // namespace tapml::topdown
