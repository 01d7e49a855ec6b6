#include "topdown/suite/verify_suite.h"

#include "io/host/files.h"
#include "topdown/suite/check_suite.h"
#include "topdown/suite/suite_weights.h"
#include "topdown/suite/tensor_file.h"

namespace tapml::topdown {

Result<SuiteCheck> verify_suite(const std::string& folder, const std::string& model,
                                const WorkWatcher& watcher) {
  const std::string file = folder + "/suite.json";
  TAPML_ASSIGN(std::string text, read_text_file(file));
  SuiteCheck check;
  TAPML_ASSIGN(check.suite, parse_suite_index(text, file));
  Suite whole = check.suite;
  if (!model.empty()) whole.model_folder = model;
  if (auto weights = weights_by_reference(whole, file)) {
    whole.tensors = std::move(*weights);
  } else {
    check.faults.push_back(weights.error());
  }
  const auto hashes = named_tensors(whole);
  int64_t checked = 0;
  for (const std::string& hash : hashes) {
    tell(watcher, {"check", checked++, std::ssize(hashes), "tensors"});
    if (whole.weights.contains(hash)) continue;
    auto tensor = load_tensor(folder, hash);
    if (!tensor) {
      check.faults.push_back(tensor.error());
      continue;
    }
    ++check.tensors;
    check.bytes += stored_bytes(*tensor);
    whole.tensors.emplace(hash, std::move(*tensor));
  }
  if (!check.faults.empty()) return check;
  if (Status fits = check_suite(whole, file); !fits) check.faults.push_back(fits.error());
  return check;
}

Result<std::vector<std::string>> kernels_gone(const Suite& suite, const Module& fixed,
                                              const std::string& where) {
  const std::string& policy = fixed.facts.fusion_policy;
  if (!policy.empty() && suite.fusion_policy != policy) {
    return fail(user_error("the suite has another fusion policy", where, policy,
                           suite.fusion_policy, "carve it from this model"));
  }
  std::vector<std::string> gone;
  for (const SuiteKernel& kernel : suite.kernels) {
    if (!fixed.find(kernel.name)) gone.push_back(kernel.name);
  }
  if (!suite.kernels.empty() && gone.size() == suite.kernels.size()) {
    return fail(user_error("the suite belongs to another model", where, "kernels of this model",
                           gone[0] + " and others", "carve it from this model"));
  }
  return gone;
}

}  // namespace tapml::topdown
