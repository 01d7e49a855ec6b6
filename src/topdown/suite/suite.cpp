#include "topdown/suite/suite.h"

#include <algorithm>

#include "base/hash.h"
#include "io/json.h"
#include "topdown/suite/suite_folder.h"

namespace tapml::topdown {

namespace {

using JsonFields = std::vector<std::pair<std::string, Json>>;

Json strings(const std::vector<std::string>& list) {
  std::vector<Json> items;
  for (const std::string& text : list) items.push_back(Json::string(text));
  return Json::array(std::move(items));
}

Json integer_list(const std::vector<int64_t>& list) {
  std::vector<Json> items;
  for (int64_t value : list) items.push_back(Json::integer(value));
  return Json::array(std::move(items));
}

Json string_set(const std::set<std::string>& set) { return strings({set.begin(), set.end()}); }

void add_lines(JsonFields& fields, const Origin& origin) {
  if (!origin.lines.empty()) fields.emplace_back("lines", string_set(origin.lines));
}

Json call_json(const SuiteCall& call) {
  JsonFields fields = {
      {"kernel", Json::integer(call.kernel)},     {"sequence", Json::integer(call.sequence)},
      {"times", Json::integer(call.times)},       {"function", Json::string(call.function)},
      {"origin", string_set(call.origin.layers)}, {"scalars", integer_list(call.scalars)},
      {"before", strings(call.before)},           {"after", strings(call.after)}};
  add_lines(fields, call.origin);
  if (call.added) fields.emplace_back("added", Json::boolean(true));
  return Json::object(std::move(fields));
}

Json location_json(const CallParameter& place) {
  return integer_list({static_cast<int64_t>(place.call), static_cast<int64_t>(place.param)});
}

Json group_values_json(const std::vector<GroupValue>& values) {
  std::vector<Json> items;
  for (const GroupValue& value : values) {
    items.push_back(Json::object({{"at", location_json(value.place)},
                                  {"tensor", Json::string(value.hash)},
                                  {"name", Json::string(value.name)}}));
  }
  return Json::array(std::move(items));
}

Json group_json(const SuiteGroup& group) {
  std::vector<Json> calls, links;
  for (const SuiteCall& call : group.calls) {
    JsonFields fields = {
        {"kernel", Json::integer(call.kernel)},    {"sequence", Json::integer(call.sequence)},
        {"function", Json::string(call.function)}, {"origin", string_set(call.origin.layers)},
        {"scalars", integer_list(call.scalars)},   {"before", strings(call.before)}};
    add_lines(fields, call.origin);
    calls.push_back(Json::object(std::move(fields)));
  }
  for (const SuiteLink& link : group.links) {
    links.push_back(
        Json::object({{"from", location_json(link.from)}, {"to", location_json(link.to)}}));
  }
  return Json::object({{"source", Json::string(group.source)},
                       {"carved_on", Json::string(group.carved_on)},
                       {"times", Json::integer(group.times)},
                       {"calls", Json::array(std::move(calls))},
                       {"links", Json::array(std::move(links))},
                       {"inputs", group_values_json(group.inputs)},
                       {"outputs", group_values_json(group.outputs)}});
}

Json untested_json(const std::vector<KernelUse>& untested) {
  std::vector<Json> items;
  for (const auto& [kernel, origin] : untested) {
    JsonFields fields = {{"kernel", Json::string(kernel)}, {"origin", string_set(origin.layers)}};
    add_lines(fields, origin);
    items.push_back(Json::object(std::move(fields)));
  }
  return Json::array(std::move(items));
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

std::vector<std::string> Suite::kernels_of(const SuiteGroup& group) const {
  std::vector<std::string> names;
  for (const SuiteCall& call : group.calls) {
    const std::string& name = kernels[static_cast<size_t>(call.kernel)].name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Origin origin_of(const SuiteGroup& group) {
  Origin origin;
  for (const SuiteCall& call : group.calls) origin = merge_origins(origin, call.origin);
  return origin;
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

std::string test_key(const SuiteGroup& group) {
  auto text = [](const CallParameter& place) {
    return std::to_string(place.call) + "." + std::to_string(place.param);
  };
  std::string key = group.source + ":" + group.carved_on;
  for (const SuiteCall& call : group.calls) key += "|" + test_key(call);
  for (const SuiteLink& link : group.links) key += "|" + text(link.from) + ">" + text(link.to);
  for (const auto* values : {&group.inputs, &group.outputs}) {
    key += "|";
    for (const GroupValue& value : *values) key += text(value.place) + "=" + value.hash + ",";
  }
  return key;
}

std::set<std::string> named_tensors(const SuiteGroup& group) {
  std::set<std::string> names;
  for (const SuiteCall& call : group.calls) names.insert(call.before.begin(), call.before.end());
  for (const auto* values : {&group.inputs, &group.outputs}) {
    for (const GroupValue& value : *values) names.insert(value.hash);
  }
  names.erase("");
  return names;
}

std::set<std::string> named_tensors(const Suite& suite) {
  std::set<std::string> names;
  for (const SuiteCall& call : suite.calls) {
    names.insert(call.before.begin(), call.before.end());
    names.insert(call.after.begin(), call.after.end());
  }
  for (const SuiteGroup& group : suite.groups) names.merge(named_tensors(group));
  names.erase("");
  return names;
}

std::string suite_text(const Suite& suite) {
  std::vector<Json> kernels, calls, groups;
  for (const SuiteKernel& kernel : suite.kernels) kernels.push_back(kernel_json(kernel));
  for (const SuiteCall& call : suite.calls) calls.push_back(call_json(call));
  for (const SuiteGroup& group : suite.groups) groups.push_back(group_json(group));
  std::vector<std::pair<std::string, Json>> weights;
  for (const std::string& hash : named_tensors(suite)) {
    auto weight = suite.weights.find(hash);
    if (weight != suite.weights.end()) weights.emplace_back(hash, Json::string(weight->second));
  }
  Json json = Json::object({{"schema", Json::string(kSuiteSchema)},
                            {"version", Json::integer(kSuiteVersion)},
                            {"complete", Json::boolean(suite.incomplete.empty())},
                            {"reason", Json::string(suite.incomplete)},
                            {"untested", untested_json(suite.untested)},
                            {"source", Json::string(suite.source)},
                            {"fusion_policy", Json::string(suite.fusion_policy)},
                            {"model", Json::string(suite.model)},
                            {"model_folder", Json::string(suite.model_folder)},
                            {"quantization", Json::string(suite.quantization)},
                            {"weights", Json::object(std::move(weights))},
                            {"kernels", Json::array(std::move(kernels))},
                            {"calls", Json::array(std::move(calls))},
                            {"groups", Json::array(std::move(groups))}});
  return json.dump(1) + "\n";
}

Status save_suite(const Suite& suite, const std::string& folder, const WorkWatcher& watcher) {
  TAPML_ASSIGN(SuiteFolder files, SuiteFolder::open(folder));
  const auto hashes = named_tensors(suite);
  int64_t written = 0;
  for (const std::string& hash : hashes) {
    tell(watcher, {"write", written++, std::ssize(hashes), "tensors"});
    if (!suite.weights.contains(hash)) TAPML_TRY(files.put(hash, suite.tensors.at(hash)));
  }
  return files.finish(suite);
}

}  // namespace tapml::topdown
