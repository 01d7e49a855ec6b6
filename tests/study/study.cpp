// The study of planted bugs (make study-localize): one model on one target. Bugs are drawn from a
// seed and planted, each first shown to change something; localize() is asked for them. Beside it a
// bottom-up arm: each kernel on random inputs, source against target, with a fixed tolerance; and
// clean migrations. One JSON file a case; finished ones are kept.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "app/cache.h"
#include "app/platforms.h"
#include "base/rng.h"
#include "io/host/files.h"
#include "io/json.h"
#include "models/quantization.h"
#include "passes/kernel.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/child_process.h"
#include "support/golden_models.h"
#include "topdown/kernels/planted_session.h"
#include "topdown/localize/localize.h"
#include "topdown/migrate/migrate.h"
#include "topdown/suite/carve.h"

namespace tapml::study {
namespace {

using namespace topdown;  // NOLINT: this is about topdown alone
using Clock = std::chrono::steady_clock;

constexpr int kRuns = 20;  // of each bug, to tell its rate
constexpr double kRelative = 1e-2, kAbsolute = 1e-2;
constexpr int64_t kForced = 4;  // decode steps of each run

struct Options {
  std::string program, model, quantize, target, out;
  uint64_t seed = 1;
  int64_t cases = 1, clean = 0;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

frontend::HuggingFaceModel load(const Options& options) {
  if (options.model == "demo") {
    const models::Quantization* quantization =
        options.quantize.empty() ? nullptr : &models::find_quantization(options.quantize);
    return frontend::read_model(std::string(TAPML_SOURCE_DIR) + "/models/demo", quantization);
  }
  return testing::golden_model(options.model).model;
}

// A kernel process as `tapml localize` starts it.
std::unique_ptr<runtime::Session> open_worker(const std::string& program,
                                              const std::string& target) {
  auto channel = unwrap(rpc::start_program({program, "kernel-worker"}, "the kernel under test"));
  rpc::ConnectOptions connect;
  connect.target = target;
  return unwrap(rpc::RemoteSession::connect(std::move(channel), connect));
}

struct Bug {
  std::string kernel;
  PlantKind kind = PlantKind::kOffByOne;
  tir::PrimFuncRef implementation;      // of kernels
  std::optional<SessionPlant> session;  // of the runtime
  int changed = 0;                      // of kRuns
};

// How many of `b`'s elements are not within the tolerance of `a`'s.
bool all_close(const HostTensor& a, const HostTensor& b) {
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at_f64(i), y = b.at_f64(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    if (!(std::abs(y - x) <= kAbsolute + kRelative * std::abs(x))) return false;
  }
  return true;
}

class Study {
 public:
  explicit Study(const Options& options)
      : options_(options),
        cache_({}),
        model_(load(options)),
        source_target_(target::parse_target("cpu")),
        source_session_(app::open_session(source_target_)) {
    target::Target target = target::parse_target(options.target);
    auto first = open_worker(options.program, options.target);
    target::adopt_processor(target, first->info());
    target_.target = target;
    target_.open = [program = options.program, text = options.target] {
      return open_worker(program, text);
    };
    target_.kernel_timeout = std::chrono::seconds(10);
    source_ = {source_target_, source_session_.get(),
               [program = options.program] { return open_worker(program, "cpu"); },
               std::chrono::seconds(10)};
    pipeline::ImplementOptions implement;
    implement.cache = cache_.kernels();
    fixed_ = pipeline::fix_kernels(model_.module);
    executable_ = pipeline::implement(fixed_, source_target_, implement);
    engine_ = unwrap(llm::Engine::create(*source_session_, executable_, model_.weights));
  }

  void run() {
    prompt_ = prompt(options_.seed);
    suite_ = carve();
    judge_.emplace(suite_);
    // Kernels without bugs are in the caches before anything is timed.
    warm_up();
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
    unwrap(write_text_atomic(path, json.dump(1) + "\n"));
    std::fprintf(stderr, "%s (%.1f s)\n", name.c_str(), seconds_since(start));
  }

  std::vector<int32_t> prompt(uint64_t seed) const {
    RandomStream random(seed, "prompt");
    std::vector<int32_t> tokens;
    const int64_t vocabulary = model_interface_of(model_.module.attrs).vocabulary;
    for (int i = 0; i < 9; ++i) {
      tokens.push_back(static_cast<int32_t>(random.between(3, vocabulary - 1)));
    }
    return tokens;
  }

  Suite carve() {
    Carver carver(*executable_);
    engine_->vm().call_point().set_observer(&carver);
    llm::GenerateOptions generate;
    generate.max_tokens = kForced;
    forced_ = unwrap(engine_->generate(prompt_, generate)).tokens;
    engine_->vm().call_point().set_observer(nullptr);
    return carver.take();
  }

  LocalizeOptions localize_options() {
    LocalizeOptions options;
    options.suite = suite_;
    options.cache = cache_.kernels();
    options.repeats = 2;
    options.shrink_time = std::chrono::milliseconds(0);
    return options;
  }

  void warm_up() {
    localize(model_.module, model_.weights, prompt_, source_, target_, localize_options());
  }

  // The target's executable with the bugs of kernels.
  std::shared_ptr<const Executable> target_executable(const std::vector<Bug>& bugs) {
    pipeline::ImplementOptions implement;
    implement.cache = cache_.kernels();
    implement.module_per_kernel = true;
    implement.rewrite = rewrite_of(bugs);
    return pipeline::implement(fixed_, target_.target, implement);
  }
  static std::function<tir::PrimFuncRef(const std::string&, tir::PrimFuncRef)> rewrite_of(
      const std::vector<Bug>& bugs) {
    return [bugs](const std::string& name, tir::PrimFuncRef scheduled) {
      for (const Bug& bug : bugs) {
        if (bug.implementation && bug.kernel == name) return bug.implementation;
      }
      return scheduled;
    };
  }

  // Kinds that this target can have, those that were drawn least often in front.
  std::vector<PlantKind> kinds(RandomStream& random) {
    std::vector<std::pair<double, PlantKind>> order;
    for (const PlantKindInfo& info : plant_kinds()) {
      if (info.kind == PlantKind::kEndlessLoop) continue;  // takes its timeout each time
      order.emplace_back(drawn_[info.kind] + random.unit(), info.kind);
    }
    std::ranges::sort(order, {}, [](const auto& one) { return one.first; });
    std::vector<PlantKind> kinds;
    for (const auto& [rank, kind] : order) kinds.push_back(kind);
    return kinds;
  }

  std::vector<HostTensor> target_logits(Sandbox& sandbox,
                                        const std::shared_ptr<const Executable>& executable) {
    auto engine = unwrap(llm::Engine::create(sandbox.session(), executable, model_.weights));
    return forced_logits(*engine, {prompt_, forced_, {}});
  }

  // Shown on the carved calls or, for the runtime, on a whole run; how often is counted.
  std::optional<Bug> session_bug(const std::string& kernel, PlantKind kind) {
    auto plants = std::make_shared<std::vector<SessionPlant>>();
    Sandbox sandbox(with_session_plants(target_, plants));
    const auto executable = target_executable({});
    sandbox.load(executable);
    const auto tests = carved_outputs(suite_, kernel, sandbox);
    const auto logits = target_logits(sandbox, executable);
    for (size_t site = 0; site < session_sites(kind); ++site) {
      *plants = {{kernel, kind, site}};
      Bug bug{kernel, kind, nullptr, plants->front()};
      for (int run = 0; run < kRuns && (run == 0 || bug.changed > 0); ++run) {
        bug.changed += !same_bits(tests, carved_outputs(suite_, kernel, sandbox)) ||
                               !same_bits(logits, target_logits(sandbox, executable))
                           ? 1
                           : 0;
      }
      if (bug.changed > 0) return bug;
    }
    return std::nullopt;
  }

  std::optional<Bug> draw(const std::string& kernel, PlantKind kind, uint64_t seed) {
    if (is_of_session(kind)) return session_bug(kernel, kind);
    Sandbox sandbox(target_);
    auto planted = guard([&] { return plant(suite_, *judge_, kernel, kind, sandbox, {}, seed); });
    if (!planted) return std::nullopt;
    Bug bug{kernel, kind, planted->implementation, {}};
    if (ends_process(kind)) {
      bug.changed = kRuns;
      return bug;
    }
    Module alone = passes::kernel_alone(judge_->module(), kernel);
    alone.attrs = judge_->module().attrs;
    pipeline::ImplementOptions implement;
    const auto clean = pipeline::implement(alone, target_.target, implement);
    implement.rewrite = rewrite_of({bug});
    sandbox.load(clean);
    const auto expected = carved_outputs(suite_, kernel, sandbox);
    sandbox.load(pipeline::implement(alone, target_.target, implement));
    for (int run = 0; run < kRuns; ++run) {
      bug.changed += same_bits(expected, carved_outputs(suite_, kernel, sandbox)) ? 0 : 1;
    }
    return bug;
  }

  std::vector<Bug> draw_bugs(int64_t number) {
    RandomStream random(options_.seed, options_.model + options_.quantize + options_.target +
                                           " case " + std::to_string(number));
    // As many as the cases of the paper's Table 6 have.
    static constexpr int64_t kCounts[] = {1, 4, 11, 2, 2, 1, 1, 1, 1, 2};
    const auto count =
        static_cast<size_t>(kCounts[(number + static_cast<int64_t>(options_.seed)) % 10]);
    std::vector<std::string> free;
    for (const SuiteKernel& kernel : suite_.kernels) free.push_back(kernel.name);
    std::vector<Bug> bugs;
    for (PlantKind kind : kinds(random)) {
      if (bugs.size() == count || free.empty()) break;
      // Two bugs of the runtime at once would hide each other in one held launch.
      const bool has_session = std::ranges::any_of(bugs, [](const Bug& b) { return !!b.session; });
      if (has_session && is_of_session(kind)) continue;
      const int most = is_of_session(kind) ? 1 : 4;
      for (int tries = 0; tries < most; ++tries) {
        const auto at = static_cast<size_t>(random.between(0, std::ssize(free) - 1));
        auto bug = draw(free[at], kind, random.next() | 1U);
        if (!bug) continue;
        bugs.push_back(std::move(*bug));
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      drawn_[kind] += 1;
    }
    return bugs;
  }

  Json bugs_case(int64_t number) {
    const std::vector<Bug> bugs = draw_bugs(number);
    auto plants = std::make_shared<std::vector<SessionPlant>>();
    for (const Bug& bug : bugs) {
      if (bug.session) plants->push_back(*bug.session);
    }
    LocalizeOptions options = localize_options();
    options.rewrite = rewrite_of(bugs);
    const auto start = Clock::now();
    const Localization found = localize(model_.module, model_.weights, prompt_, source_,
                                        with_session_plants(target_, plants), options);
    const double seconds = seconds_since(start);
    // Kernels that only make a model wrong together are one report.
    std::set<std::set<std::string>> reports;
    for (const Culprit& culprit : found.culprits) {
      std::set<std::string> report(culprit.together_with.begin(), culprit.together_with.end());
      report.insert(culprit.kernel);
      reports.insert(std::move(report));
    }
    std::map<std::string, Json> found_by;
    for (const Culprit& culprit : found.culprits) {
      found_by[culprit.kernel] = Json::string(evidence_name(culprit.evidence));
    }
    Json by = Json::object({});
    for (auto& [kernel, evidence] : found_by) by.set(kernel, std::move(evidence));
    std::vector<Json> sets;
    for (const auto& report : reports) sets.push_back(names(report));
    const auto bottom_up_start = Clock::now();
    const std::set<std::string> failed = bottom_up(bugs, plants);
    const double bottom_up_seconds = seconds_since(bottom_up_start);
    std::vector<Json> list;
    for (const Bug& bug : bugs) {
      list.push_back(Json::object({{"kernel", Json::string(bug.kernel)},
                                   {"kind", Json::string(plant_kind_name(bug.kind))},
                                   {"changed", Json::integer(bug.changed)}}));
    }
    return Json::object({{"arm", Json::string("bugs")},
                         {"kernels", Json::integer(std::ssize(suite_.kernels))},
                         {"bugs", Json::array(std::move(list))},
                         {"reports", Json::array(std::move(sets))},
                         {"found_by", std::move(by)},
                         {"target_wrong", Json::boolean(found.target_ran && !found.whole.passed)},
                         {"seconds", Json::number(seconds)},
                         {"bottom_up", names(failed)},
                         {"bottom_up_seconds", Json::number(bottom_up_seconds)}});
  }

  static Json names(const std::set<std::string>& all) {
    std::vector<Json> list;
    for (const std::string& name : all) list.push_back(Json::string(name));
    return Json::array(std::move(list));
  }

  // A call of the suite with random inputs: standard normal floats; integers 0 or 1, which are
  // indices that every table has.
  Suite random_call(size_t call) const {
    Suite one = one_call(suite_, call);
    RandomStream random(options_.seed, "bottom-up " + std::to_string(call));
    for (size_t i = 0; i < one.calls[0].before.size(); ++i) {
      std::string& hash = one.calls[0].before[i];
      if (hash.empty()) continue;
      HostTensor tensor =
          HostTensor::zeros(one.tensors.at(hash).dtype(), one.tensors.at(hash).shape());
      for (int64_t e = 0; e < tensor.size(); ++e) {
        const double normal =
            std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(2 * M_PI * random.unit());
        tensor.set_f64(
            e, is_float(tensor.dtype()) ? normal : static_cast<double>(random.between(0, 1)));
      }
      hash = content_hash(tensor);
      one.tensors.insert_or_assign(hash, std::move(tensor));
    }
    return one;
  }

  std::set<std::string> bottom_up(const std::vector<Bug>& bugs, const SessionPlants& plants) {
    Sandbox sandbox(with_session_plants(target_, plants));
    Sandbox reference(source_);
    sandbox.load(target_executable(bugs));
    reference.load(executable_);
    std::set<std::string> failed, seen;
    for (size_t c = 0; c < suite_.calls.size(); ++c) {
      const std::string& name = suite_.kernels[static_cast<size_t>(suite_.calls[c].kernel)].name;
      if (!seen.insert(name).second) continue;
      const Suite one = random_call(c);
      auto expected = run_call(one, 0, reference.runner());
      if (!expected) {
        // No test can be made of it this way.
        if (reference.contains(expected.error())) reference.restart();
        continue;
      }
      auto outputs = run_call(one, 0, sandbox.runner());
      if (!outputs) {
        if (sandbox.contains(outputs.error())) sandbox.restart();
        failed.insert(name);
        continue;
      }
      for (size_t i = 0; i < outputs->size(); ++i) {
        if (!all_close((*expected)[i], (*outputs)[i])) failed.insert(name);
      }
    }
    return failed;
  }

  // A migration with nothing planted, of another prompt each time.
  Json clean_case(int64_t number) {
    MigrateOptions options;
    options.max_tokens = kForced;
    options.validation_tokens = kForced;
    options.cache = cache_.kernels();
    const auto start = Clock::now();
    const Migration migration = migrate(
        model_.module, model_.weights, prompt(options_.seed + 1000 + static_cast<uint64_t>(number)),
        source_, target_, options);
    std::set<std::string> culprits;
    for (const MigrationStep* step : migration.culprits()) culprits.insert(step->verdict.kernel);
    return Json::object({{"arm", Json::string("clean")},
                         {"kernels", Json::integer(std::ssize(migration.steps))},
                         {"passed", Json::boolean(migration.passed())},
                         {"reports", names(culprits)},
                         {"seconds", Json::number(seconds_since(start))}});
  }

  const Options& options_;
  app::CompileCache cache_;
  frontend::HuggingFaceModel model_;
  target::Target source_target_;
  std::unique_ptr<runtime::Session> source_session_;
  Platform source_, target_;
  Module fixed_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<llm::Engine> engine_;
  std::vector<int32_t> prompt_, forced_;
  Suite suite_;
  std::optional<Judge> judge_;
  std::map<PlantKind, int> drawn_;
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
                 "DIR [--seed S] [--cases N] [--clean N]\n");
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
