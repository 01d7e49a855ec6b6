#include "topdown/migrate/migration_state.h"

#include <algorithm>
#include <filesystem>

#include "base/log.h"
#include "exec/code_digest.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/results/result_json.h"
#include "topdown/suite/field_digest.h"

namespace tapml::topdown {

namespace {

constexpr int64_t kSchema = 1;

// Whether it crashed or hung, alone or in the model.
bool has_ended_its_session(const MigrationStep& step) {
  return step.verdict.failed == Failure::kCrash || step.verdict.failed == Failure::kTimeout ||
         !step.hybrid.failure.empty();
}

std::string shortened(const std::string& text) {
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

void expect_identity(const JsonObjectReader& top, const std::string& file,
                     const MigrationIdentity& identity) {
  const int64_t schema = unwrap(top.required_int("tapml_migration", 1));
  if (schema != kSchema) {
    throw_user("the state is of another version of tapml", file,
               "version " + std::to_string(kSchema), std::to_string(schema),
               "use another --state folder to start anew");
  }
  const JsonObjectReader kept = unwrap(top.required_object("of"));
  std::string expected, found;
  for (const auto& [name, value] : identity) {
    const std::string was = unwrap(kept.required_string(name));
    if (was == value) continue;
    expected += (expected.empty() ? "" : "; ") + name + " " + shortened(value);
    found += (found.empty() ? "" : "; ") + name + " " + shortened(was);
  }
  if (!found.empty()) {
    throw_user("the state is of another migration", file, expected, found,
               "use another --state folder to start anew");
  }
}

}  // namespace

CodeDigests code_digests(const Executable& executable, const DeviceInfo& device) {
  CodeDigests digests;
  for (const Implementation& implementation : executable.implementations) {
    const auto kernel = static_cast<size_t>(implementation.kernel);
    FieldDigest digest;
    digest.text(code_digest(executable, implementation));
    for (const std::string* text :
         {&device.name, &device.version, &device.cpu, &device.cpu_features}) {
      digest.text(*text);
    }
    digests[executable.kernels[kernel].name] = digest.hex();
  }
  return digests;
}

MigrationState MigrationState::open(const std::string& folder, MigrationIdentity identity,
                                    CodeDigests code) {
  unwrap(make_folder(folder));
  MigrationState state(folder + "/state.json", std::move(identity), std::move(code));
  std::error_code ignored;
  if (std::filesystem::exists(state.file_, ignored)) {
    state.read(unwrap(read_text_file(state.file_)));
  } else {
    state.add({});  // fails early if the folder cannot be written
  }
  return state;
}

void MigrationState::check(const std::string& folder, const MigrationIdentity& part) {
  const std::string file = folder + "/state.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return;
  const Json json = unwrap(parse_json(unwrap(read_text_file(file)), file));
  expect_identity(JsonObjectReader(json, file), file, part);
}

void MigrationState::read(const std::string& text) {
  const Json json = unwrap(parse_json(text, file_));
  const JsonObjectReader top(json, file_);
  expect_identity(top, file_, identity_);
  int64_t stale = 0, ended = 0;
  for (const Json& item : *unwrap(top.required_array("steps"))) {
    const JsonObjectReader reader(item, file_, "steps");
    MigrationStep step = unwrap(read_step(reader));
    if (unwrap(reader.required_string("code")) != code_of(step)) {
      ++stale;
    } else if (has_ended_its_session(step)) {
      ++ended;
    } else {
      steps_.push_back(std::move(step));
    }
  }
  const std::vector<Json>* layers = unwrap(top.optional_array("layers"));
  for (size_t i = 0; layers && stale + ended == 0 && i < layers->size(); ++i) {
    layers_.push_back(unwrap(read_layer(JsonObjectReader((*layers)[i], file_, "layers"))));
  }
  if (stale > 0) {
    log_warning(file_ + ": " + std::to_string(stale) +
                " kernels are tried again, because their code, the device or its driver has "
                "changed");
  }
  if (ended > 0) {
    log_warning(file_ + ": " + std::to_string(ended) +
                " kernels are tried again, because they crashed or timed out");
  }
}

std::string MigrationState::code_of(const MigrationStep& step) const {
  const auto it = code_.find(step.verdict.kernel);
  return it == code_.end() ? "" : it->second;
}

std::vector<MigrationStep> MigrationState::steps_of(const std::string& unit,
                                                    const std::vector<std::string>& kernels) const {
  std::vector<MigrationStep> result;
  for (const std::string& kernel : kernels) {
    auto step = std::ranges::find_if(steps_, [&](const MigrationStep& one) {
      return one.unit == unit && one.verdict.kernel == kernel;
    });
    if (step == steps_.end()) return {};
    result.push_back(*step);
  }
  return result;
}

const LayerStep* MigrationState::layer(const std::string& name) const {
  const auto found = std::ranges::find(layers_, name, &LayerStep::layer);
  return found == layers_.end() ? nullptr : &*found;
}

void MigrationState::add(const LayerStep& layer, const std::vector<MigrationStep>& steps) {
  layers_.push_back(layer);
  add(steps);
}

void MigrationState::add(const std::vector<MigrationStep>& steps) {
  // Replaces steps that no longer count because another one of their unit does not.
  for (const MigrationStep& step : steps) {
    std::erase_if(steps_, [&](const MigrationStep& old) {
      return old.unit == step.unit && old.verdict.kernel == step.verdict.kernel;
    });
  }
  steps_.insert(steps_.end(), steps.begin(), steps.end());
  std::vector<std::pair<std::string, Json>> of;
  for (const auto& [name, value] : identity_) of.emplace_back(name, Json::string(value));
  std::vector<Json> items;
  for (const MigrationStep& step : steps_) {
    Json item = step_json(step);
    item.set("code", Json::string(code_of(step)));
    items.push_back(std::move(item));
  }
  Json json = Json::object({{"tapml_migration", Json::integer(kSchema)},
                            {"of", Json::object(std::move(of))},
                            {"steps", Json::array(std::move(items))}});
  if (!layers_.empty()) json.set("layers", layers_json(layers_));
  unwrap(write_text_atomic(file_, json.dump(1) + "\n"));
}

}  // namespace tapml::topdown
