// Carved tests: one real run kept as a test t = (F, I, O) for every kernel call (TapML 2025,
// section 3.2). A suite needs nothing else to be replayed: it holds the kernels' specs, the
// tensors (identical ones once, by content hash) and the calls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "abi/access.h"
#include "abi/origin.h"
#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml::topdown {

struct SuiteKernel {
  std::string name;
  std::string spec;  // text of a Module with spec and tensor program
  std::vector<std::string> params;
  std::vector<AccessMode> modes;
};

struct SuiteCall {
  int32_t kernel = 0;
  int64_t sequence = 0;  // position in the run
  std::string function;  // "prefill", ...
  Origin origin;
  std::vector<int64_t> scalars;
  // Content hashes, one per parameter: before the call (in, inout; else empty) and after it (out,
  // inout; else empty).
  std::vector<std::string> before, after;
};

struct Suite {
  std::string source;  // target that it was carved on
  std::string boundary_policy;
  std::string model;  // architecture
  std::vector<SuiteKernel> kernels;
  std::vector<SuiteCall> calls;
  std::map<std::string, HostTensor> tensors;  // by content hash

  int32_t find_kernel(const std::string& name) const;  // -1: none
};

// Writes suite.json and tensors/<hash>.safetensors under `folder`, each file whole or not at all;
// suite.json comes last.
Status save_suite(const Suite& suite, const std::string& folder);

// Where the tensors of a suite come from.
struct SuiteSource {
  // The tensor of a content hash (64 hexadecimal digits).
  std::function<Result<HostTensor>(const std::string& hash)> tensor;
  // False: specs may differ from their recorded hash. For fuzzing what lies behind the comparison.
  bool check_hashes = true;
};

// Reads the text of a suite.json; `file` names it in errors. Each tensor that a call names is asked
// for once. UserError for anything altered (by content hash), malformed, of another schema version,
// or that does not fit together (check_suite), and what `source` returns.
Result<Suite> parse_suite(std::string_view text, const std::string& file,
                          const SuiteSource& source);

// Reads what save_suite wrote. UserError that names the file for anything that parse_suite refuses
// and for tensors that are missing or altered.
Result<Suite> load_suite(const std::string& folder);

}  // namespace tapml::topdown
