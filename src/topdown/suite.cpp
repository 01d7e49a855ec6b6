#include "topdown/suite.h"

#include "base/hash.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "io/safetensors.h"
#include "topdown/check_suite.h"

namespace tapml::topdown {

namespace {

constexpr int64_t kSchemaVersion = 1;
constexpr const char* kSchema = "tapml-suite";

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
                       {"spec_hash", Json::string(to_hex(sha256(kernel.spec)))},
                       {"spec", Json::string(kernel.spec)}});
}

// Reads one suite.json; every complaint names the file and the place in it.
class SuiteReader {
 public:
  SuiteReader(std::string file, const SuiteSource& source)
      : file_(std::move(file)), source_(source) {}

  Result<Suite> read(std::string_view text) {
    TAPML_ASSIGN(Json json, parse_json(text, file_));
    if (!json.is_object()) return wrong(json, "the document", "an object");
    TAPML_ASSIGN(std::string schema, string(json, "schema"));
    if (schema != kSchema) return wrong(json, "schema", std::string("\"") + kSchema + "\"");
    TAPML_ASSIGN(int64_t version, integer(json, "version"));
    if (version != kSchemaVersion) {
      return fail(user_error("suite of another schema version", file_,
                             std::to_string(kSchemaVersion), std::to_string(version),
                             "carve it again with this version"));
    }
    Suite suite;
    TAPML_ASSIGN(suite.source, string(json, "source"));
    TAPML_ASSIGN(suite.boundary_policy, string(json, "boundary_policy"));
    TAPML_ASSIGN(suite.model, string(json, "model"));
    TAPML_ASSIGN(const Json* kernels, array(json, "kernels"));
    for (const Json& item : kernels->items()) TAPML_TRY(read_kernel(item, suite));
    TAPML_ASSIGN(const Json* calls, array(json, "calls"));
    for (const Json& item : calls->items()) TAPML_TRY(read_call(item, suite));
    TAPML_TRY(check_suite(suite, file_));
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

  Status read_kernel(const Json& json, Suite& suite) {
    SuiteKernel kernel;
    TAPML_ASSIGN(kernel.name, string(json, "name"));
    TAPML_ASSIGN(kernel.spec, string(json, "spec"));
    TAPML_ASSIGN(std::string hash, string(json, "spec_hash"));
    std::string found = to_hex(sha256(kernel.spec));
    if (source_.check_hashes && found != hash) {
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
      return wrong(json, "modes", "one mode a parameter");
    }
    suite.kernels.push_back(std::move(kernel));
    return {};
  }

  Status read_call(const Json& json, Suite& suite) {
    SuiteCall call;
    TAPML_ASSIGN(int64_t kernel, integer(json, "kernel"));
    if (kernel < 0 || kernel >= static_cast<int64_t>(suite.kernels.size())) {
      return wrong(json, "kernel", "the number of a kernel of the suite");
    }
    call.kernel = static_cast<int32_t>(kernel);
    TAPML_ASSIGN(call.sequence, integer(json, "sequence"));
    TAPML_ASSIGN(call.function, string(json, "function"));
    TAPML_ASSIGN(auto origin, string_list(json, "origin"));
    call.origin = Origin(origin.begin(), origin.end());
    TAPML_ASSIGN(const Json* scalars, array(json, "scalars"));
    for (const Json& item : scalars->items()) {
      if (!item.is_integer()) return wrong(item, "scalars", "integers");
      call.scalars.push_back(item.as_integer());
    }
    TAPML_ASSIGN(call.before, string_list(json, "before"));
    TAPML_ASSIGN(call.after, string_list(json, "after"));
    size_t params = suite.kernels[static_cast<size_t>(kernel)].params.size();
    if (call.before.size() != params || call.after.size() != params) {
      return wrong(json, "before or after", "one hash a parameter");
    }
    for (size_t i = 0; i < params; ++i) {
      AccessMode mode = suite.kernels[static_cast<size_t>(kernel)].modes[i];
      if (mode != AccessMode::kOut) TAPML_TRY(read_tensor(call.before[i], suite));
      if (mode != AccessMode::kIn) TAPML_TRY(read_tensor(call.after[i], suite));
    }
    suite.calls.push_back(std::move(call));
    return {};
  }

  Status read_tensor(const std::string& hash, Suite& suite) {
    if (suite.tensors.contains(hash)) return {};
    // A hash is also a file name: nothing else may come in here.
    if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
      return fail(user_error("malformed content hash in a suite", file_, "64 hexadecimal digits",
                             hash, "carve the suite again"));
    }
    TAPML_ASSIGN(HostTensor tensor, source_.tensor(hash));
    suite.tensors.emplace(hash, std::move(tensor));
    return {};
  }

  std::string file_;
  const SuiteSource& source_;
};

Result<HostTensor> load_tensor(const std::string& path, const std::string& hash) {
  TAPML_ASSIGN(MappedFile mapped, map_file(path));
  TAPML_ASSIGN(SafetensorsFile file, parse_safetensors(mapped.bytes, mapped.owner, path));
  auto it = file.tensors.find("data");
  if (it == file.tensors.end()) {
    return fail(user_error("a suite's tensor file lacks its tensor", path, "\"data\"", "none",
                           "carve the suite again"));
  }
  if (std::string found = content_hash(it->second); found != hash) {
    return fail(user_error("a tensor of the suite was altered", path, "content hash " + hash, found,
                           "carve the suite again"));
  }
  return it->second;
}

}  // namespace

int32_t Suite::find_kernel(const std::string& name) const {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name == name) return static_cast<int32_t>(i);
  }
  return -1;
}

Status save_suite(const Suite& suite, const std::string& folder) {
  TAPML_TRY(make_folder(folder + "/tensors"));
  for (const auto& [hash, tensor] : suite.tensors) {
    TAPML_TRY(write_file_atomic(folder + "/tensors/" + hash + ".safetensors",
                                write_safetensors({{"data", tensor}})));
  }
  std::vector<Json> kernels, calls;
  for (const SuiteKernel& kernel : suite.kernels) kernels.push_back(kernel_json(kernel));
  for (const SuiteCall& call : suite.calls) calls.push_back(call_json(call));
  Json json = Json::object({{"schema", Json::string(kSchema)},
                            {"version", Json::integer(kSchemaVersion)},
                            {"source", Json::string(suite.source)},
                            {"boundary_policy", Json::string(suite.boundary_policy)},
                            {"model", Json::string(suite.model)},
                            {"kernels", Json::array(std::move(kernels))},
                            {"calls", Json::array(std::move(calls))}});
  return write_text_atomic(folder + "/suite.json", json.dump(1) + "\n");
}

Result<Suite> parse_suite(std::string_view text, const std::string& file,
                          const SuiteSource& source) {
  return SuiteReader(file, source).read(text);
}

Result<Suite> load_suite(const std::string& folder) {
  const std::string file = folder + "/suite.json";
  TAPML_ASSIGN(std::string text, read_text_file(file));
  SuiteSource source;
  source.tensor = [&](const std::string& hash) {
    return load_tensor(folder + "/tensors/" + hash + ".safetensors", hash);
  };
  return parse_suite(text, file, source);
}

}  // namespace tapml::topdown
