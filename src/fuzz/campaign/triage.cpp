#include "fuzz/campaign/triage.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "fuzz/campaign/finding.h"
#include "fuzz/campaign/json_fields.h"
#include "fuzz/campaign/state.h"
#include "fuzz/campaign/worker.h"
#include "fuzz/reduce/reduce.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::fuzz {

namespace {

namespace fs = std::filesystem;

constexpr const char* kStandings[] = {"repeats", "changed", "unreadable", "fixed"};
// From what misleads without a word to what is only told badly.
constexpr ProblemKind kBySeverity[] = {
    ProblemKind::kValues,   ProblemKind::kCrash,    ProblemKind::kMemory,     ProblemKind::kHang,
    ProblemKind::kInternal, ProblemKind::kVerifier, ProblemKind::kAccepted,   ProblemKind::kRefusal,
    ProblemKind::kText,     ProblemKind::kMutator,  ProblemKind::kDiagnostic,
};

std::vector<std::string> finding_folders(const std::string& folder) {
  std::vector<std::string> folders;
  std::error_code failed;
  fs::recursive_directory_iterator entry(folder, failed);
  if (failed) throw_user("this folder cannot be read: " + failed.message(), folder);
  for (; entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    if (entry->path().filename() == "reduced") entry.disable_recursion_pending();
    if (entry->path().filename() == "finding.json") {
      folders.push_back(entry->path().parent_path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// How many programs failed in the way of each finding, by the names of their folders.
std::map<std::string, int64_t> counts_of(const std::string& folder) {
  std::map<std::string, int64_t> counts;
  const Result<CampaignState> state = guard([&] { return read_state(folder); });
  if (!state) return counts;
  for (const KnownFinding& known : state->findings) {
    counts[fs::path(known.folder).filename().string()] = known.count;
  }
  return counts;
}

Triaged triaged(const std::string& folder, const TriageOptions& options) {
  Triaged result;
  result.folder = folder;
  const Status done = guard([&] {
    const bool is_reduced = fs::exists(folder + "/reduced/finding.json");
    const std::string smallest = is_reduced ? folder + "/reduced" : folder;
    const Finding finding = load_finding(smallest);
    result.called = called_operators(finding.program.module);
    result.operators = count_calls(finding.program.module);
    WorkerOptions worker_options;
    worker_options.targets = finding.targets;
    Worker worker(options.command, worker_options, options.seconds);
    const std::optional<Problem> found = worker.check(smallest);
    result.standing = !found                            ? Standing::kFixed
                      : found->same_as(finding.problem) ? Standing::kRepeats
                                                        : Standing::kChanged;
    Problem problem = found.value_or(finding.problem);
    const std::string file = folder + "/pass.json";
    if (result.standing != Standing::kChanged && fs::exists(file)) {
      problem.pass = text_at(unwrap(parse_json(unwrap(read_text_file(file)), file)), "pass");
    }
    result.kind = problem_kind_name(problem.kind);
    result.cause = problem.signature();
    result.pass = problem.pass;
    result.message = problem.message;
  });
  if (!done) {
    if (done.error().kind == ErrorKind::kInternal) throw_error(done.error());
    result.standing = Standing::kUnreadable;
    result.message = done.error().to_string();
  }
  return result;
}

// Whether `other` is the same finding as `known`, or a larger one.
bool is_duplicate(const Triaged& other, const Triaged& known) {
  if (other.standing != known.standing || other.standing == Standing::kUnreadable) return false;
  if (other.cause != known.cause) return false;
  const std::optional<ProblemKind> kind = problem_kind_of(other.kind);
  return (kind && has_telling_message(*kind)) || std::ranges::includes(other.called, known.called);
}

int severity(const Triaged& one) {
  const std::optional<ProblemKind> kind = problem_kind_of(one.kind);
  const auto* end = std::end(kBySeverity);
  return static_cast<int>((kind ? std::find(kBySeverity, end, *kind) : end) - kBySeverity);
}

}  // namespace

const char* standing_name(Standing standing) { return kStandings[static_cast<int>(standing)]; }

Json Triaged::json() const {
  std::vector<Json> others, names;
  for (const std::string& other : duplicates) others.push_back(Json::string(other));
  for (const std::string& name : called) names.push_back(Json::string(name));
  return Json::object({{"folder", Json::string(folder)},
                       {"standing", Json::string(standing_name(standing))},
                       {"kind", Json::string(kind)},
                       {"pass", Json::string(pass)},
                       {"cause", Json::string(cause)},
                       {"called", Json::array(std::move(names))},
                       {"operators", Json::integer(operators)},
                       {"count", Json::integer(count)},
                       {"message", Json::string(message)},
                       {"duplicates", Json::array(std::move(others))}});
}

std::vector<Triaged> triage(const TriageOptions& options) {
  const std::vector<std::string> folders = finding_folders(options.folder);
  if (folders.empty()) {
    throw_user("there is no finding in this folder", options.folder, "a file finding.json below");
  }
  const std::map<std::string, int64_t> counts = counts_of(options.folder);
  std::vector<Triaged> all;
  for (const std::string& folder : folders) {
    if (options.progress) options.progress(std::ssize(all), std::ssize(folders));
    all.push_back(triaged(folder, options));
    const auto count = counts.find(fs::path(folder).filename().string());
    if (count != counts.end()) all.back().count = count->second;
  }
  // The smallest ones first, so that larger ones are found to be the same.
  std::ranges::stable_sort(
      all, {}, [](const Triaged& one) { return std::pair(one.called.size(), one.operators); });
  std::vector<Triaged> findings;
  for (Triaged& one : all) {
    const auto known = std::ranges::find_if(
        findings, [&](const Triaged& other) { return is_duplicate(one, other); });
    if (known == findings.end()) {
      findings.push_back(std::move(one));
      continue;
    }
    known->count += one.count;
    known->duplicates.push_back(one.folder);
  }
  std::ranges::stable_sort(findings, {}, [](const Triaged& one) {
    return std::tuple(one.standing, severity(one), -one.count, one.operators);
  });
  return findings;
}

}  // namespace tapml::fuzz
