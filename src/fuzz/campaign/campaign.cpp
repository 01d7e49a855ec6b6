#include "fuzz/campaign/campaign.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "fuzz/campaign/finding.h"
#include "fuzz/reduce/reduce.h"
#include "io/host/files.h"
#include "io/host/scratch_folder.h"
#include "ir/exceptions.h"

namespace tapml::fuzz {

namespace {

// Programs of one epoch have the same snapshot of the coverage. The first ones cover most.
constexpr uint64_t kFirstEpoch = 10, kEpoch = 50, kFirstPrograms = 200;
// Errors of invalid programs that are kept.
constexpr size_t kMostInvalid = 5;
// Findings that look alike before they are reduced: more are only counted.
constexpr int64_t kMostAlike = 12;
// The same for those that end the process, whose reduction takes longer.
constexpr int64_t kMostEnds = 3;

// How much longer a program gets the second time.
constexpr double kPatience = 4;

bool ends_process(ProblemKind kind) {
  return kind == ProblemKind::kCrash || kind == ProblemKind::kHang || kind == ProblemKind::kMemory;
}

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options) : options_(options), start_(seconds_now()) {
    unwrap(make_folder(options_.folder));
    result_.state = load_state(options_.folder, options_.seed, options_.worker);
    for (int i = 0; i < std::max(1, options_.jobs); ++i) {
      workers_.push_back(
          std::make_unique<Worker>(options_.command, options_.worker, options_.test_seconds));
      workers_.back()->set_coverage(&state().coverage, state().coverage);
    }
    before_ = state().seconds;
  }

  CampaignResult run() {
    while (!over() && result_.mutator_fault.empty()) {
      std::vector<Tested> tested = run_epoch();
      finish_epoch(tested);
    }
    result_.seconds = seconds_now() - start_;
    result_.cancelled = cancelled();
    return std::move(result_);
  }

 private:
  CampaignState& state() { return result_.state; }
  bool cancelled() const { return options_.cancelled && options_.cancelled(); }
  bool is_late() const { return cancelled() || seconds_now() - start_ > options_.seconds; }
  bool over() const { return is_late() || (options_.tests > 0 && result_.tests >= options_.tests); }

  std::vector<Tested> run_epoch() {
    const uint64_t count = state().next < kFirstPrograms ? kFirstEpoch : kEpoch;
    std::vector<Tested> tested(count);
    std::atomic<uint64_t> next = 0;
    std::atomic<int64_t> done = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    auto work = [&](Worker& worker) {
      try {
        for (uint64_t i = next++; i < count && !is_late(); i = next++) {
          tested[i] = test(worker, state().next + i);
          const int64_t so_far = result_.tests + ++done;
          if (!options_.progress) continue;
          const std::lock_guard lock(mutex);
          options_.progress(state(), so_far, seconds_now() - start_);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = count;
      }
    };
    {
      std::vector<std::jthread> threads;
      for (const auto& worker : workers_) {
        threads.emplace_back([&work, &worker] { work(*worker); });
      }
    }
    if (failure) std::rethrow_exception(failure);
    return tested;
  }

  // A process that ended, or took too long, once more in a fresh one, with more time: the machine
  // may be at fault.
  Tested test(Worker& worker, uint64_t index) const {
    const uint64_t seed = program_seed(options_.seed, index);
    Tested tested = worker.test(seed);
    if (tested.problem && ends_process(tested.problem->kind)) {
      worker.restart();
      tested = worker.test(seed, kPatience);
    }
    return tested;
  }

  void finish_epoch(const std::vector<Tested>& tested) {
    const bool complete =
        std::all_of(tested.begin(), tested.end(), [](const Tested& one) { return one.done; });
    const std::string digest = state().coverage.digest();
    for (size_t i = 0; i < tested.size(); ++i) {
      if (tested[i].done && tested[i].problem) add_finding(tested[i], state().next + i, digest);
    }
    Coverage added;
    for (const Tested& one : tested) {
      if (!one.done) continue;
      ++result_.tests;
      if (!one.valid && result_.invalid.size() < kMostInvalid) {
        result_.invalid.push_back(one.invalid);
      }
      if (!complete) continue;
      added.merge(one.added);
      ++state().tests;
      state().valid += one.valid;
      state().finite += one.finite && one.valid;
      state().refused += one.refused;
      state().native += one.native;
      state().mutants += one.mutated;
      state().variants += one.variant;
      state().language += one.language;
      state().elements += one.tally.all;
      state().open_elements += one.tally.open;
      for (const std::string& feature : one.features) ++state().features[feature];
    }
    // The programs of an incomplete epoch are tested again after a restart: their coverage would
    // depend on when it ended.
    if (complete) {
      state().next += tested.size();
      state().coverage.merge(added);
      state().curve.emplace_back(state().tests, state().coverage.size());
      for (const auto& worker : workers_) worker->set_coverage(&state().coverage, added);
    }
    state().seconds = before_ + seconds_now() - start_;
    save_state(state(), options_.folder);
  }

  void add_finding(const Tested& tested, uint64_t index, const std::string& digest) {
    const Problem& problem = *tested.problem;
    const std::string first = problem.signature();
    const auto known = state().signatures.find(first);
    if (known != state().signatures.end()) {
      KnownFinding& finding = state().findings[static_cast<size_t>(known->second)];
      if (finding.index == index) return;  // of an epoch that was interrupted
      ++finding.count;
      // What no message tells apart may have several causes, which reduced programs do.
      const int64_t most = ends_process(problem.kind) ? kMostEnds : kMostAlike;
      if (has_telling_message(problem.kind) || finding.count > most) return;
    }
    KnownFinding finding;
    finding.kind = problem_kind_name(problem.kind);
    finding.cause = first;
    finding.pass = problem.pass;
    finding.index = index;
    finding.folder = options_.folder + "/findings/" + std::to_string(index) + "-" + finding.kind;
    Worker& worker = *workers_.front();
    const uint64_t seed = program_seed(options_.seed, index);
    unwrap(worker.save(seed, tested.of_mutant, index, digest, problem, finding.folder));
    if (problem.kind == ProblemKind::kMutator) result_.mutator_fault = finding.folder;
    // What fails in the generator, or in the fuzzer itself, has no smaller program.
    const bool reducible = problem.kind != ProblemKind::kMutator && problem.stage != "generate" &&
                           !options_.worker.disruptive;
    if (reducible) settle(worker, problem, finding);
    for (KnownFinding& other : state().findings) {
      if (!is_known(finding, other)) continue;
      ++other.count;
      std::error_code ignored;
      std::filesystem::remove_all(finding.folder, ignored);
      state().signatures.try_emplace(first, &other - state().findings.data());
      return;
    }
    state().signatures.try_emplace(first, std::ssize(state().findings));
    state().findings.push_back(finding);
    if (options_.found) options_.found(finding);
  }

  // Reduces and bisects a finding.
  void settle(Worker& worker, const Problem& problem, KnownFinding& finding) {
    if (ends_process(problem.kind)) {
      settle_in_processes(worker, problem, finding);
      return;
    }
    const auto outcome = worker.reduce(finding.folder, options_.reduce_seconds);
    if (!outcome) return;  // the finding itself is kept
    finding.cause = outcome->cause;
    finding.pass = outcome->pass;
    finding.called = outcome->called;
    finding.operators = outcome->operators;
  }

  // Every candidate may end the process that checks it.
  void settle_in_processes(Worker& worker, const Problem& problem, KnownFinding& finding) {
    const Status done = guard([&] {
      const Finding whole = load_finding(finding.folder);
      const ScratchFolder scratch = unwrap(ScratchFolder::create("fuzz"));
      Finding candidate = whole;
      ReduceOptions reduction;
      reduction.seconds = options_.reduce_seconds;
      reduction.cancelled = options_.cancelled;
      reduction.check = [&](const Program& program, const Problem& of) {
        candidate.program = program;
        candidate.problem = of;
        save_finding(candidate, scratch.path());
        return worker.check(scratch.path());
      };
      const Reduced reduced = reduce(whole.program, problem, reduction);
      finding.operators = reduced.operators;
      const FinalForm form =
          finish_finding(whole, reduced, {problem.pass, problem.message, "", ""}, finding.folder);
      finding.cause = form.problem.signature();
      finding.called = form.called;
    });
    worker.restart();
    if (!done && done.error().kind == ErrorKind::kInternal) throw_error(done.error());
  }

  const CampaignOptions& options_;
  double start_, before_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  CampaignResult result_;
};

}  // namespace

CampaignResult run_campaign(const CampaignOptions& options) { return Campaign(options).run(); }

}  // namespace tapml::fuzz
