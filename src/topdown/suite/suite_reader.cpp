// Reading suites.
#include <filesystem>
#include <set>

#include "base/hash.h"
#include "io/host/files.h"
#include "io/json.h"
#include "ir/exceptions.h"
#include "models/quantization.h"
#include "topdown/suite/check_suite.h"
#include "topdown/suite/suite.h"
#include "topdown/suite/suite_folder.h"
#include "topdown/suite/suite_weights.h"
#include "topdown/suite/tensor_file.h"

namespace tapml::topdown {

namespace {

// Reads one suite.json; every error names the file and the position in it.
class SuiteReader {
 public:
  SuiteReader(std::string file, bool check_hashes)
      : file_(std::move(file)), check_hashes_(check_hashes) {}

  Result<Suite> read(std::string_view text) {
    TAPML_ASSIGN(Json json, parse_json(text, file_));
    if (!json.is_object()) return wrong(json, "the document", "an object");
    TAPML_ASSIGN(std::string schema, string(json, "schema"));
    if (schema != kSuiteSchema) {
      return wrong(json, "schema", std::string("\"") + kSuiteSchema + "\"");
    }
    TAPML_ASSIGN(const int64_t version, integer(json, "version"));
    if (version != kSuiteVersion) {
      return fail(user_error("the suite has another format version", file_,
                             "version " + std::to_string(kSuiteVersion), std::to_string(version),
                             "read it with the tapml that wrote it, or carve it again"));
    }
    Suite suite;
    TAPML_TRY(read_completeness(json, suite));
    TAPML_ASSIGN(suite.source, string(json, "source"));
    TAPML_ASSIGN(suite.fusion_policy, string(json, "fusion_policy"));
    TAPML_ASSIGN(suite.model, string(json, "model"));
    TAPML_TRY(read_weights(json, suite));
    TAPML_TRY(read_quantization(json, suite));
    TAPML_ASSIGN(const Json* kernels, array(json, "kernels"));
    for (const Json& item : kernels->items()) TAPML_TRY(read_kernel(item, suite));
    TAPML_ASSIGN(const Json* calls, array(json, "calls"));
    for (const Json& item : calls->items()) TAPML_TRY(read_call(item, suite));
    TAPML_ASSIGN(const Json* groups, array(json, "groups"));
    for (const Json& item : groups->items()) TAPML_TRY(read_group(item, suite));
    return suite;
  }

 private:
  std::unexpected<Error> wrong(const Json& at, const std::string& what,
                               const std::string& expected) const {
    return fail(
        user_error("bad " + what + " in a suite",
                   file_ + ":" + std::to_string(at.line()) + ":" + std::to_string(at.column()),
                   expected, at.kind_name(), "carve the suite again"));
  }

  Result<const Json*> member(const Json& object, const char* key) const {
    const Json* value = object.is_object() ? object.find(key) : nullptr;
    if (!value) return wrong(object, "entry", std::string("a field \"") + key + "\"");
    return value;
  }
  Result<std::string> string(const Json& object, const char* key) const {
    TAPML_ASSIGN(const Json* value, member(object, key));
    if (!value->is_string()) return wrong(*value, key, "a string");
    return value->as_string();
  }
  Result<int64_t> integer(const Json& object, const char* key) const {
    TAPML_ASSIGN(const Json* value, member(object, key));
    if (!value->is_integer()) return wrong(*value, key, "an integer");
    return value->as_integer();
  }
  Result<const Json*> array(const Json& object, const char* key) const {
    TAPML_ASSIGN(const Json* value, member(object, key));
    if (!value->is_array()) return wrong(*value, key, "an array");
    return value;
  }
  Result<std::vector<std::string>> string_list(const Json& object, const char* key) const {
    TAPML_ASSIGN(const Json* list, array(object, key));
    std::vector<std::string> result;
    for (const Json& item : list->items()) {
      if (!item.is_string()) return wrong(item, key, "strings");
      result.push_back(item.as_string());
    }
    return result;
  }

  Status read_completeness(const Json& json, Suite& suite) const {
    TAPML_ASSIGN(const Json* complete, member(json, "complete"));
    if (!complete->is_bool()) return wrong(*complete, "complete", "true or false");
    TAPML_ASSIGN(suite.incomplete, string(json, "reason"));
    if (complete->as_bool() != suite.incomplete.empty()) {
      return wrong_part(
          *complete, "the suite's \"complete\" and \"reason\" contradict each other",
          "a reason if the suite is incomplete, and none if it is complete",
          complete->as_bool() ? "complete, with a reason" : "incomplete, without one");
    }
    TAPML_ASSIGN(const Json* untested, array(json, "untested"));
    for (const Json& item : untested->items()) {
      KernelUse& use = suite.untested.emplace_back();
      TAPML_ASSIGN(use.kernel, string(item, "kernel"));
      TAPML_ASSIGN(use.origin, origin_of(item));
    }
    return {};
  }

  Status read_kernel(const Json& json, Suite& suite) {
    SuiteKernel kernel;
    TAPML_ASSIGN(kernel.name, string(json, "name"));
    TAPML_ASSIGN(kernel.spec, string(json, "spec"));
    TAPML_ASSIGN(std::string hash, string(json, "spec_hash"));
    std::string found = to_hex(sha256(kernel.spec));
    if (check_hashes_ && found != hash) {
      return fail(user_error("the spec of a kernel was altered", file_ + ", kernel " + kernel.name,
                             "SHA-256 " + hash, found, "carve the suite again"));
    }
    TAPML_ASSIGN(kernel.params, string_list(json, "params"));
    TAPML_ASSIGN(auto modes, string_list(json, "modes"));
    for (const std::string& text : modes) {
      auto mode = parse_access_mode(text);
      if (!mode) return wrong(json, "modes", "in, out or inout");
      kernel.modes.push_back(*mode);
    }
    if (kernel.modes.size() != kernel.params.size()) {
      return wrong(json, "modes", "one mode per parameter");
    }
    TAPML_ASSIGN(kernel.dropped, integer(json, "dropped"));
    if (kernel.dropped < 0) return wrong(json, "dropped", "0 or more");
    suite.kernels.push_back(std::move(kernel));
    return {};
  }

  Result<Origin> origin_of(const Json& json) const {
    TAPML_ASSIGN(auto layers, string_list(json, "origin"));
    Origin origin;
    origin.layers.insert(layers.begin(), layers.end());
    if (json.find("lines")) {
      TAPML_ASSIGN(auto lines, string_list(json, "lines"));
      origin.lines.insert(lines.begin(), lines.end());
    }
    return origin;
  }

  // Reads the fields that calls of the suite and calls of groups share.
  Status read_run(const Json& json, const Suite& suite, SuiteCall& call) const {
    TAPML_ASSIGN(int64_t kernel, integer(json, "kernel"));
    if (kernel < 0 || kernel >= static_cast<int64_t>(suite.kernels.size())) {
      return wrong(json, "kernel", "the number of a kernel of the suite");
    }
    call.kernel = static_cast<int32_t>(kernel);
    TAPML_ASSIGN(call.sequence, integer(json, "sequence"));
    TAPML_ASSIGN(call.function, string(json, "function"));
    TAPML_ASSIGN(call.origin, origin_of(json));
    TAPML_ASSIGN(const Json* scalars, array(json, "scalars"));
    for (const Json& item : scalars->items()) {
      if (!item.is_integer()) return wrong(item, "scalars", "integers");
      call.scalars.push_back(item.as_integer());
    }
    TAPML_ASSIGN(call.before, string_list(json, "before"));
    if (call.before.size() != suite.kernels[static_cast<size_t>(kernel)].params.size()) {
      return wrong(json, "before", "one hash per parameter");
    }
    return {};
  }

  Status read_times(const Json& json, int64_t& times) const {
    TAPML_ASSIGN(times, integer(json, "times"));
    if (times < 1) return wrong(json, "times", "1 or more");
    return {};
  }

  Status read_call(const Json& json, Suite& suite) {
    SuiteCall call;
    TAPML_TRY(read_run(json, suite, call));
    TAPML_TRY(read_times(json, call.times));
    if (const Json* added = json.find("added")) {
      if (!added->is_bool()) return wrong(*added, "added", "true or false");
      call.added = added->as_bool();
    }
    TAPML_ASSIGN(call.after, string_list(json, "after"));
    size_t params = call.before.size();
    if (call.after.size() != params) return wrong(json, "after", "one hash per parameter");
    for (size_t i = 0; i < params; ++i) {
      AccessMode mode = suite.kernels[static_cast<size_t>(call.kernel)].modes[i];
      TAPML_TRY(check_hash(call.before[i], mode != AccessMode::kOut));
      TAPML_TRY(check_hash(call.after[i], mode != AccessMode::kIn));
    }
    suite.calls.push_back(std::move(call));
    return {};
  }

  Status read_group(const Json& json, Suite& suite) const {
    SuiteGroup group;
    TAPML_ASSIGN(group.source, string(json, "source"));
    TAPML_ASSIGN(group.carved_on, string(json, "carved_on"));
    TAPML_TRY(read_times(json, group.times));
    TAPML_ASSIGN(const Json* calls, array(json, "calls"));
    for (const Json& item : calls->items()) {
      SuiteCall& call = group.calls.emplace_back();
      TAPML_TRY(read_run(item, suite, call));
      call.after.resize(call.before.size());
    }
    std::set<CallParameter> given;  // parameters that a value or a link provides
    TAPML_ASSIGN(const Json* links, array(json, "links"));
    for (const Json& item : links->items()) {
      SuiteLink link;
      TAPML_TRY(read_place(item, "from", suite, group, true, link.from));
      TAPML_TRY(read_place(item, "to", suite, group, false, link.to));
      if (link.from.call >= link.to.call) {
        return wrong_part(item, "a link of a group runs backwards",
                          "from an earlier call than " + std::to_string(link.to.call),
                          "from call " + std::to_string(link.from.call));
      }
      if (!given.insert(link.to).second) return twice(item, link.to);
      group.links.push_back(link);
    }
    TAPML_TRY(read_group_values(json, "inputs", suite, group, false, group.inputs));
    for (const GroupValue& value : group.inputs) {
      if (!given.insert(value.place).second) return twice(json, value.place);
    }
    TAPML_TRY(read_group_values(json, "outputs", suite, group, true, group.outputs));
    if (group.outputs.empty()) return wrong(json, "outputs of a group", "one at least");
    for (size_t c = 0; c < group.calls.size(); ++c) {
      const Json& at = calls->items()[c];
      const std::vector<std::string>& before = group.calls[c].before;
      const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(group.calls[c].kernel)];
      for (size_t i = 0; i < before.size(); ++i) {
        const bool needed = kernel.modes[i] != AccessMode::kOut && !given.contains({c, i});
        if (needed && before[i].empty()) {
          return wrong_part(
              at, "a parameter of a group's call has no value",
              "a tensor, a link or a group input for " + kernel.params[i] + " of " + kernel.name,
              "none");
        }
        if (!before[i].empty() && given.contains({c, i})) return twice(at, {c, i});
        TAPML_TRY(check_hash(before[i], needed));
      }
    }
    suite.groups.push_back(std::move(group));
    return {};
  }

  std::unexpected<Error> wrong_part(const Json& at, const std::string& message,
                                    const std::string& expected, const std::string& found) const {
    return fail(user_error(
        message, file_ + ":" + std::to_string(at.line()) + ":" + std::to_string(at.column()),
        expected, found, "carve the suite again"));
  }
  std::unexpected<Error> twice(const Json& at, const CallParameter& place) const {
    return wrong_part(at, "a parameter of a group's call is given twice",
                      "one tensor, link or group input for it",
                      "two for parameter " + std::to_string(place.param) + " of call " +
                          std::to_string(place.call));
  }

  // Reads [call, parameter]: a parameter that is written, or one that is read.
  Status read_place(const Json& object, const char* key, const Suite& suite,
                    const SuiteGroup& group, bool written, CallParameter& place) const {
    TAPML_ASSIGN(const Json* pair, array(object, key));
    const auto& items = pair->items();
    if (items.size() != 2 || !items[0].is_integer() || !items[1].is_integer()) {
      return wrong(*pair, key, "[call, parameter]");
    }
    const int64_t call = items[0].as_integer(), param = items[1].as_integer();
    if (call < 0 || call >= std::ssize(group.calls)) {
      return wrong_part(*pair, "a group names a call that it does not have",
                        "0 to " + std::to_string(std::ssize(group.calls) - 1),
                        std::to_string(call));
    }
    place.call = static_cast<size_t>(call);
    const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(group.calls[place.call].kernel)];
    if (param < 0 || param >= std::ssize(kernel.params)) {
      return wrong_part(
          *pair, "a group names a parameter that its kernel does not have",
          "0 to " + std::to_string(std::ssize(kernel.params) - 1) + ", of " + kernel.name,
          std::to_string(param));
    }
    place.param = static_cast<size_t>(param);
    const AccessMode mode = kernel.modes[place.param];
    if (mode == (written ? AccessMode::kIn : AccessMode::kOut)) {
      return wrong_part(*pair, std::string(key) + " of a group is in the wrong place",
                        written ? "a parameter that the call writes" : "one that the call reads",
                        kernel.params[place.param] + " of " + kernel.name + ", " +
                            std::string(access_mode_name(mode)));
    }
    return {};
  }

  Status read_group_values(const Json& json, const char* key, const Suite& suite,
                           const SuiteGroup& group, bool written,
                           std::vector<GroupValue>& values) const {
    TAPML_ASSIGN(const Json* list, array(json, key));
    for (const Json& item : list->items()) {
      GroupValue& value = values.emplace_back();
      TAPML_TRY(read_place(item, "at", suite, group, written, value.place));
      TAPML_ASSIGN(value.hash, string(item, "tensor"));
      TAPML_TRY(check_hash(value.hash, true));
      TAPML_ASSIGN(value.name, string(item, "name"));
    }
    return {};
  }

  Status read_weights(const Json& json, Suite& suite) {
    TAPML_ASSIGN(suite.model_folder, string(json, "model_folder"));
    TAPML_ASSIGN(const Json* weights, member(json, "weights"));
    if (!weights->is_object()) return wrong(*weights, "weights", "an object");
    for (const auto& [hash, name] : weights->members()) {
      TAPML_TRY(check_hash(hash, true));
      if (!name.is_string()) return wrong(name, "weights", "names of weights");
      suite.weights.emplace(hash, name.as_string());
    }
    return {};
  }

  Status read_quantization(const Json& json, Suite& suite) const {
    TAPML_ASSIGN(suite.quantization, string(json, "quantization"));
    if (suite.quantization.empty()) return {};
    auto known = guard([&] { models::Quantization::parse(suite.quantization); });
    if (known) return {};
    const Json& value = *json.find("quantization");
    return wrong_part(value, "the suite has an unknown quantization", known.error().expected,
                      suite.quantization);
  }

  // A hash is also a file name, so nothing else is accepted. Empty where no tensor belongs.
  Status check_hash(const std::string& hash, bool needed) const {
    const bool good = needed ? hash.size() == 64 &&
                                   hash.find_first_not_of("0123456789abcdef") == std::string::npos
                             : hash.empty();
    if (good) return {};
    return fail(user_error("malformed content hash in a suite", file_,
                           needed ? "64 hexadecimal digits" : "none for this parameter", hash,
                           "carve the suite again"));
  }

  std::string file_;
  bool check_hashes_;
};

// Reads the tensors that calls name, and checks that everything fits.
Status fill(Suite& suite, const std::string& file,
            const std::function<Result<HostTensor>(const std::string&)>& tensor,
            const WorkWatcher& watcher = {}) {
  const auto hashes = named_tensors(suite);
  int64_t read = 0;
  for (const std::string& hash : hashes) {
    tell(watcher, {"read", read++, std::ssize(hashes), "tensors"});
    TAPML_ASSIGN(HostTensor one, tensor(hash));
    suite.tensors.emplace(hash, std::move(one));
  }
  tell(watcher, {"read", read, read, "tensors"});
  return check_suite(suite, file);
}

}  // namespace

Result<HostTensor> load_tensor(const std::string& folder, const std::string& hash) {
  const std::string path = folder + "/" + tensor_file(hash);
  TAPML_ASSIGN(MappedFile mapped, map_file(path));
  TAPML_ASSIGN(HostTensor tensor, read_tensor_file(mapped.bytes, mapped.owner, path));
  if (std::string found = content_hash(tensor); found != hash) {
    return fail(user_error("a tensor of the suite was altered", path, "content hash " + hash, found,
                           "carve the suite again"));
  }
  return tensor;
}

Result<Suite> parse_suite_index(std::string_view text, const std::string& file, bool check_hashes) {
  return SuiteReader(file, check_hashes).read(text);
}

Result<Suite> parse_suite(std::string_view text, const std::string& file,
                          const SuiteSource& source) {
  TAPML_ASSIGN(Suite suite, parse_suite_index(text, file, source.check_hashes));
  TAPML_TRY(fill(suite, file, source.tensor));
  return suite;
}

Result<Suite> load_suite(const std::string& folder, const std::string& model,
                         const WorkWatcher& watcher) {
  const std::string file = folder + "/suite.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) &&
      (std::filesystem::exists(folder + "/config.json", ignored) ||
       std::filesystem::is_regular_file(folder, ignored))) {
    return fail(
        user_error("this is not a suite", folder, "a folder that tapml carve wrote",
                   std::filesystem::is_directory(folder, ignored) ? "a model directory" : "a file",
                   "tapml carve MODEL --prompt TEXT -o SUITE"));
  }
  TAPML_ASSIGN(std::string text, read_text_file(file));
  TAPML_ASSIGN(Suite suite, parse_suite_index(text, file));
  if (!model.empty()) suite.model_folder = model;
  TAPML_ASSIGN(auto weights, weights_by_reference(suite, file));
  TAPML_TRY(fill(
      suite, file,
      [&](const std::string& hash) -> Result<HostTensor> {
        auto weight = weights.find(hash);
        if (weight != weights.end()) return weight->second;
        return load_tensor(folder, hash);
      },
      watcher));
  return suite;
}

}  // namespace tapml::topdown
