// The study of injected faults (make study-localize): one model on one target. Bugs are drawn from
// a seed and injected, each first shown to have an effect; localize() must find them. For
// comparison, a bottom-up arm: each kernel on random inputs, source against target, with a fixed
// tolerance; and clean migrations. One JSON file per case; finished cases are kept.
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "io/host/files.h"
#include "io/json.h"
#include "study/bottom_up.h"

namespace tapml::study {
namespace {

using namespace topdown;  // NOLINT: this is about topdown alone
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Json names(const std::set<std::string>& all) {
  std::vector<Json> list;
  for (const std::string& name : all) list.push_back(Json::string(name));
  return Json::array(std::move(list));
}

// Kernels that a user would investigate together: those that only make a model wrong in
// combination, and those whose weights the same launches pack.
std::set<std::set<std::string>> reports_of(const Localization& found) {
  std::set<std::set<std::string>> reports;
  for (const Culprit& culprit : found.culprits) {
    std::set<std::string> report{culprit.kernel};
    report.insert(culprit.together_with.begin(), culprit.together_with.end());
    report.insert(culprit.same_preparation.begin(), culprit.same_preparation.end());
    reports.insert(std::move(report));
  }
  return reports;
}

class Study {
 public:
  explicit Study(const Options& options) : options_(options) {}

  void run() {
    for (int64_t i = 0; i < options_.cases; ++i) keep("bugs", i, [&] { return bugs_case(i); });
    for (int64_t i = 0; i < options_.clean; ++i) keep("clean", i, [&] { return clean_case(i); });
  }

 private:
  template <class Make>
  void keep(const std::string& arm, int64_t number, Make&& make) {
    const std::string name = options_.model + (options_.quantize.empty() ? "" : "_") +
                             options_.quantize + "." + options_.target + "." + arm + "." +
                             std::to_string(number) + ".json";
    const std::string path = options_.out + "/" + name;
    if (std::filesystem::exists(path)) return;
    const auto start = Clock::now();
    Json json = make();
    json.set("model", Json::string(options_.model));
    json.set("quantize", Json::string(options_.quantize));
    json.set("target", Json::string(options_.target));
    json.set("number", Json::integer(number));
    json.set("seed", Json::integer(static_cast<int64_t>(options_.seed)));
    json.set("case_seconds", Json::number(seconds_since(start)));
    unwrap(write_text_atomic(path, json.dump(1) + "\n"));
    std::printf("%s\n", name.c_str());
    std::fflush(stdout);
  }

  // Created for the first case to run, with the correct kernels in the caches.
  Setting& setting() {
    if (!setting_) {
      setting_.emplace(options_);
      setting_->localize(setting_->target(), setting_->localize_options());
    }
    return *setting_;
  }

  Json bugs_case(int64_t number) {
    const std::vector<Bug> bugs = draw_bugs(setting(), options_, number);
    LocalizeOptions options = setting().localize_options();
    options.rewrite = rewrite_of(bugs);
    options.rewrites = rewritten_by(bugs);
    const auto start = Clock::now();
    const Localization found = setting().localize(
        with_session_faults(setting().target(), session_faults_of(bugs)), options);
    const double seconds = seconds_since(start);
    std::map<std::string, std::string> evidence;
    for (const Culprit& culprit : found.culprits) {
      evidence[culprit.kernel] = evidence_name(culprit.evidence);
    }
    const std::set<std::set<std::string>> reports = reports_of(found);
    Json found_by = Json::object({});
    for (const auto& [kernel, name] : evidence) found_by.set(kernel, Json::string(name));
    std::vector<Json> sets, list;
    for (const auto& report : reports) sets.push_back(names(report));
    for (const Bug& bug : bugs) {
      list.push_back(Json::object({{"kernel", Json::string(bug.kernel)},
                                   {"kind", Json::string(fault_kind_name(bug.kind))},
                                   {"changed", Json::integer(bug.changed)},
                                   {"harmless", Json::boolean(bug.harmless)}}));
    }
    const auto bottom_up_start = Clock::now();
    const std::set<std::string> failed = bottom_up(setting(), bugs);
    return Json::object({{"arm", Json::string("bugs")},
                         {"kernels", Json::integer(std::ssize(setting().suite().kernels))},
                         {"bugs", Json::array(std::move(list))},
                         {"reports", Json::array(std::move(sets))},
                         {"found_by", std::move(found_by)},
                         {"hybrid_runs", Json::integer(found.hybrid_runs)},
                         {"target_wrong", Json::boolean(found.target_ran && !found.whole.passed)},
                         {"seconds", Json::number(seconds)},
                         {"bottom_up", names(failed)},
                         {"bottom_up_seconds", Json::number(seconds_since(bottom_up_start))}});
  }

  // A migration without injected bugs, of another prompt each time.
  Json clean_case(int64_t number) {
    const std::vector<int32_t> prompt =
        setting().prompt(options_.seed + 1000 + static_cast<uint64_t>(number));
    const auto start = Clock::now();
    const Migration migration = setting().migrate(prompt);
    std::set<std::string> culprits;
    for (const MigrationStep* step : migration.culprits()) culprits.insert(step->verdict.kernel);
    return Json::object({{"arm", Json::string("clean")},
                         {"kernels", Json::integer(std::ssize(migration.steps))},
                         {"passed", Json::boolean(migration.passed())},
                         {"reports", names(culprits)},
                         {"seconds", Json::number(seconds_since(start))}});
  }

  const Options& options_;
  std::optional<Setting> setting_;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--program")
      options.program = value;
    else if (name == "--model")
      options.model = value;
    else if (name == "--quantize")
      options.quantize = value;
    else if (name == "--target")
      options.target = value;
    else if (name == "--out")
      options.out = value;
    else if (name == "--seed")
      options.seed = std::stoull(value);
    else if (name == "--cases")
      options.cases = std::stoll(value);
    else if (name == "--clean")
      options.clean = std::stoll(value);
    else if (name == "--first-count")
      options.first_count = std::stoll(value);
    else
      return false;
  }
  return argc % 2 == 1 && !options.program.empty() && !options.model.empty() &&
         !options.target.empty() && !options.out.empty();
}

}  // namespace
}  // namespace tapml::study

int main(int argc, char** argv) {
  tapml::study::Options options;
  if (!tapml::study::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: tapml_study --program TAPML --model NAME [--quantize Q] --target T --out "
                 "DIR [--seed S] [--cases N] [--clean N] [--first-count N]\n");
    return 2;
  }
  const auto done = tapml::guard([&] {
    tapml::study::Study(options).run();
    return true;
  });
  if (done) return 0;
  std::fprintf(stderr, "study: %s\n", done.error().to_string().c_str());
  return 1;
}
