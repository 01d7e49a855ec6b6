#include "topdown/suite/suite.h"

#include "base/hash.h"
#include "io/json.h"
#include "topdown/suite/suite_folder.h"

namespace tapml::topdown {

namespace {

Json strings(const std::vector<std::string>& list) {
  std::vector<Json> items;
  for (const std::string& text : list) items.push_back(Json::string(text));
  return Json::array(std::move(items));
}

Json call_json(const SuiteCall& call) {
  std::vector<Json> scalars;
  for (int64_t value : call.scalars) scalars.push_back(Json::integer(value));
  return Json::object({{"kernel", Json::integer(call.kernel)},
                       {"sequence", Json::integer(call.sequence)},
                       {"times", Json::integer(call.times)},
                       {"function", Json::string(call.function)},
                       {"origin", strings({call.origin.begin(), call.origin.end()})},
                       {"scalars", Json::array(std::move(scalars))},
                       {"before", strings(call.before)},
                       {"after", strings(call.after)}});
}

Json kernel_json(const SuiteKernel& kernel) {
  std::vector<std::string> modes;
  for (AccessMode mode : kernel.modes) modes.emplace_back(access_mode_name(mode));
  return Json::object({{"name", Json::string(kernel.name)},
                       {"params", strings(kernel.params)},
                       {"modes", strings(modes)},
                       {"dropped", Json::integer(kernel.dropped)},
                       {"spec_hash", Json::string(to_hex(sha256(kernel.spec)))},
                       {"spec", Json::string(kernel.spec)}});
}

}  // namespace

int32_t Suite::find_kernel(const std::string& name) const {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name == name) return static_cast<int32_t>(i);
  }
  return -1;
}

std::string test_key(const SuiteCall& call) {
  std::string key = std::to_string(call.kernel) + ":";
  for (int64_t scalar : call.scalars) key += std::to_string(scalar) + ",";
  for (const auto* hashes : {&call.before, &call.after}) {
    key += ":";
    for (const std::string& hash : *hashes) key += hash + ",";
  }
  return key;
}

std::set<std::string> named_tensors(const Suite& suite) {
  std::set<std::string> names;
  for (const SuiteCall& call : suite.calls) {
    names.insert(call.before.begin(), call.before.end());
    names.insert(call.after.begin(), call.after.end());
  }
  names.erase("");
  return names;
}

std::string suite_text(const Suite& suite) {
  std::vector<Json> kernels, calls;
  for (const SuiteKernel& kernel : suite.kernels) kernels.push_back(kernel_json(kernel));
  for (const SuiteCall& call : suite.calls) calls.push_back(call_json(call));
  std::vector<std::pair<std::string, Json>> weights;
  for (const std::string& hash : named_tensors(suite)) {
    auto weight = suite.weights.find(hash);
    if (weight != suite.weights.end()) weights.emplace_back(hash, Json::string(weight->second));
  }
  Json json = Json::object({{"schema", Json::string(kSuiteSchema)},
                            {"version", Json::integer(kSuiteVersion)},
                            {"source", Json::string(suite.source)},
                            {"boundary_policy", Json::string(suite.boundary_policy)},
                            {"model", Json::string(suite.model)},
                            {"model_folder", Json::string(suite.model_folder)},
                            {"weights", Json::object(std::move(weights))},
                            {"kernels", Json::array(std::move(kernels))},
                            {"calls", Json::array(std::move(calls))}});
  return json.dump(1) + "\n";
}

Status save_suite(const Suite& suite, const std::string& folder) {
  TAPML_ASSIGN(SuiteFolder files, SuiteFolder::open(folder));
  for (const std::string& hash : named_tensors(suite)) {
    if (!suite.weights.contains(hash)) TAPML_TRY(files.put(hash, suite.tensors.at(hash)));
  }
  return files.finish(suite);
}

}  // namespace tapml::topdown
