#include "fuzz/campaign/state.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "fuzz/campaign/json_fields.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::fuzz {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "/state.json";
constexpr int64_t kFormat = 3;

// The counts of a state by name, for reading and writing.
template <class State, class F>
void each_count(State& state, F&& f) {
  f("tests", state.tests);
  f("valid", state.valid);
  f("finite", state.finite);
  f("refused", state.refused);
  f("native", state.native);
  f("mutants", state.mutants);
  f("variants", state.variants);
  f("language", state.language);
  f("elements", state.elements);
  f("open_elements", state.open_elements);
}

std::string coverage_file(const std::string& digest) { return "coverage-" + digest + ".txt"; }

// A member of `json`; UserError that names the file if it is absent or of another kind.
const Json& member(const Json& json, const char* key, JsonKind kind, const std::string& file) {
  const Json* value = json.find(key);
  if (!value || value->kind() != kind) {
    throw_user("this is no state of a campaign: '" + std::string(key) + "' is missing or wrong",
               file, "", "", "give another folder, or remove the file to start again");
  }
  return *value;
}

}  // namespace

int count_causes(const std::vector<KnownFinding>& findings) {
  std::set<std::string> causes;
  for (const KnownFinding& finding : findings) causes.insert(finding.cause);
  return static_cast<int>(causes.size());
}

bool is_known(const KnownFinding& finding, const KnownFinding& known) {
  if (finding.cause != known.cause) return false;
  const std::optional<ProblemKind> kind = problem_kind_of(finding.kind);
  return (kind && has_telling_message(*kind)) ||
         std::ranges::includes(finding.called, known.called);
}

CampaignState read_state(const std::string& folder) {
  CampaignState state;
  const std::string file = folder + kFile;
  const Json json = unwrap(parse_json(unwrap(read_text_file(file)), file));
  auto text = [&](const Json& from, const char* key) -> const std::string& {
    return member(from, key, JsonKind::kString, file).as_string();
  };
  auto integer = [&](const Json& from, const char* key) {
    return member(from, key, JsonKind::kInteger, file).as_integer();
  };
  if (integer(json, "format") != kFormat) {
    throw_user("this state of a campaign has another format", file, std::to_string(kFormat), "",
               "give another folder");
  }
  state.seed = seed_at(json, "seed");
  state.options = WorkerOptions::from_json(member(json, "options", JsonKind::kObject, file));
  state.next = static_cast<uint64_t>(integer(json, "next"));
  each_count(state, [&](const char* key, int64_t& count) { count = integer(json, key); });
  if (const Json* seconds = json.find("seconds")) state.seconds = seconds->as_double();
  for (const Json& item : member(json, "findings", JsonKind::kArray, file).items()) {
    KnownFinding known;
    known.folder = text(item, "folder");
    known.kind = text(item, "kind");
    known.pass = text(item, "pass");
    known.cause = text(item, "cause");
    for (const Json& name : member(item, "called", JsonKind::kArray, file).items()) {
      known.called.insert(name.as_string());
    }
    known.count = integer(item, "count");
    known.operators = static_cast<int>(integer(item, "operators"));
    known.index = static_cast<uint64_t>(integer(item, "index"));
    state.findings.push_back(std::move(known));
  }
  for (const auto& [signature, number] :
       member(json, "signatures", JsonKind::kObject, file).members()) {
    const int64_t at = number.as_integer();
    if (at < 0 || at >= std::ssize(state.findings)) {
      throw_user("a signature names no finding", file, "", signature);
    }
    state.signatures[signature] = at;
  }
  for (const auto& [name, count] : member(json, "features", JsonKind::kObject, file).members()) {
    state.features[name] = count.as_integer();
  }
  for (const Json& item : member(json, "curve", JsonKind::kArray, file).items()) {
    if (item.items().size() != 2) throw_user("this is no moment of a campaign", file);
    state.curve.emplace_back(item.items()[0].as_integer(), item.items()[1].as_integer());
  }
  const std::string& digest = text(json, "coverage");
  const std::string path = folder + "/" + coverage_file(digest);
  state.coverage = unwrap(Coverage::parse(unwrap(read_text_file(path)), path));
  if (state.coverage.digest() != digest) {
    throw_user("the coverage of the campaign is damaged", path, digest, state.coverage.digest(),
               "give another folder");
  }
  return state;
}

CampaignState load_state(const std::string& folder, uint64_t seed, const WorkerOptions& options) {
  const std::string file = folder + kFile;
  if (!fs::exists(file)) {
    CampaignState state;
    state.seed = seed;
    state.options = options;
    return state;
  }
  CampaignState state = read_state(folder);
  if (state.seed != seed) {
    throw_user("the campaign in this folder has another seed", file, std::to_string(seed),
               std::to_string(state.seed), "give its seed, or another folder");
  }
  const std::string wanted = options.json().dump(), found = state.options.json().dump();
  if (wanted != found) {
    throw_user("the campaign in this folder has other options", file, wanted, found,
               "give its options, or another folder");
  }
  return state;
}

void save_state(const CampaignState& state, const std::string& folder) {
  const std::string digest = state.coverage.digest();
  unwrap(write_text_atomic(folder + "/" + coverage_file(digest), state.coverage.text()));
  std::vector<Json> findings, curve;
  for (const KnownFinding& known : state.findings) {
    std::vector<Json> called;
    for (const std::string& name : known.called) called.push_back(Json::string(name));
    findings.push_back(Json::object({{"folder", Json::string(known.folder)},
                                     {"kind", Json::string(known.kind)},
                                     {"cause", Json::string(known.cause)},
                                     {"pass", Json::string(known.pass)},
                                     {"called", Json::array(std::move(called))},
                                     {"count", Json::integer(known.count)},
                                     {"operators", Json::integer(known.operators)},
                                     {"index", Json::integer(static_cast<int64_t>(known.index))}}));
  }
  Json signatures = Json::object(), features = Json::object();
  for (const auto& [name, count] : state.features) features.set(name, Json::integer(count));
  for (const auto& [signature, at] : state.signatures) {
    signatures.set(signature, Json::integer(at));
  }
  for (const auto& [tests, covered] : state.curve) {
    curve.push_back(Json::array({Json::integer(tests), Json::integer(covered)}));
  }
  Json json = Json::object({{"format", Json::integer(kFormat)},
                            {"seed", Json::string(std::to_string(state.seed))},
                            {"options", state.options.json()},
                            {"next", Json::integer(static_cast<int64_t>(state.next))},
                            {"seconds", Json::number(state.seconds)},
                            {"coverage", Json::string(digest)}});
  each_count(state,
             [&](const char* key, const int64_t& count) { json.set(key, Json::integer(count)); });
  json.set("findings", Json::array(std::move(findings)));
  json.set("signatures", std::move(signatures));
  json.set("features", std::move(features));
  json.set("curve", Json::array(std::move(curve)));
  unwrap(write_text_atomic(folder + kFile, json.dump(1) + "\n"));
  // Coverage of earlier epochs, which no state names any more.
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("coverage-") && name != coverage_file(digest)) {
      fs::remove(entry.path(), ignored);
    }
  }
}

}  // namespace tapml::fuzz
