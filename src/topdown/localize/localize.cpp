#include "topdown/localize/localize.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "schedule/rules.h"
#include "topdown/faults/faulty_session.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/kernel_source.h"
#include "topdown/localize/bisect.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/select_calls.h"

namespace tapml::topdown {

namespace {

class Localizer {
 public:
  Localizer(const Module& module, const std::map<std::string, HostTensor>& weights,
            const std::vector<int32_t>& prompt, const Platform& source, const Platform& target,
            const LocalizeOptions& options)
      : weights_(weights),
        source_(module, weights, prompt, source, options),
        source_sandbox_(source, options.cancelled),
        sandbox_(
            has_session_faults(options) ? with_session_faults(target, session_faults_) : target,
            options.cancelled),
        options_(options) {}

  Localization run() {
    prepare_source();
    prepare_suite();
    if (result_.source_nan) return finish();
    source_.evaluate_model();
    prepare_target();
    replay_all();
    bisect();
    if (result_.culprits.empty() && result_.flaky.empty()) run_target();
    const bool explained =
        result_.target_ran && (result_.whole.passed || !result_.whole.failure.empty());
    if (!explained && result_.flaky.empty()) bisect_target();
    for (size_t i = 0; i < result_.culprits.size(); ++i) {
      progress("examine " + result_.culprits[i].kernel, static_cast<int64_t>(i),
               std::ssize(result_.culprits));
      examine(result_.culprits[i]);
    }
    return finish();
  }

 private:
  Localization finish() {
    result_.timeline = source_.timeline().take();
    result_.seconds = source_.timeline().now();
    return std::move(result_);
  }
  void progress(const std::string& step, int64_t done = 0, int64_t total = 0) {
    // Counted steps are of one kind, named by their first word.
    source_.timeline().begin(total == 0 ? "steps" : step.substr(0, step.find(' ')), step);
    if (options_.progress) options_.progress(step, done, total);
  }
  void tell(const KernelEvent& event) const {
    if (options_.watch) options_.watch(event);
  }
  // Prepares the trusted side: the engine and the tokens to force.
  void prepare_source() {
    // Finds errors in custom kernels before the model runs.
    const CustomKernels user(options_.custom_sources, source_.fixed());
    user_code_ = user.compile(source_.fixed(), sandbox_.target(), options_.cancelled);
    user.check(user_code_, sandbox_.target(), sandbox_.session());
    source_.start();
    source_sandbox_.load(source_.executable());
    result_.source = source_.platform().target.text;
    result_.target = sandbox_.target().text;
    result_.source_info = source_.platform().session->info();
    result_.target_info = sandbox_.session().info();
    source_.run_freely(options_.validation_tokens);
  }

  // Reads or carves the tests, and selects those of this model.
  void prepare_suite() {
    const std::string& policy = source_.fixed().facts.fusion_policy;
    Suite suite;
    if (!options_.suite) {
      suite = source_.carve();
      result_.source_nan = source_.nan();
      if (result_.source_nan) return;
      source_.expect_finite();
    } else {
      source_.expect_finite();
      suite = *options_.suite;
      if (!policy.empty() && suite.fusion_policy != policy) {
        throw_user("the suite has another fusion policy", "--suite", policy, suite.fusion_policy,
                   "carve it from this model");
      }
    }
    const bool any = std::ranges::any_of(suite.calls, [&](const SuiteCall& call) {
      const std::string& kernel = suite.kernels[static_cast<size_t>(call.kernel)].name;
      return source_.executable()->find_kernel(kernel) >= 0;
    });
    if (!any) {
      throw_user("the suite belongs to another model", "--suite", "kernels of this model",
                 suite.kernels.empty() ? "none" : suite.kernels[0].name + " and others",
                 "carve it from this model");
    }
    source_.take_suite(std::move(suite));
    result_.incomplete = suite_.incomplete;
    // Groups are not replayed here, so that only calls are tests.
    result_.untested = source_.called(result_.target_info);
    std::erase_if(result_.untested, [&](const KernelUse& use) { return has_tests(use.kernel); });
  }

  tir::PrimFuncRef rewritten(const std::string& kernel, tir::PrimFuncRef scheduled) const {
    if (auto it = faulty_.find(kernel); it != faulty_.end()) scheduled = it->second;
    return options_.rewrite ? options_.rewrite(kernel, scheduled) : scheduled;
  }
  bool rewrites() const { return !faulty_.empty() || options_.rewrite; }

  void prepare_target() {
    progress("compile for " + sandbox_.target().text);
    for (const std::string& text : options_.faults) {
      auto [kernel, kind] = parse_fault(text);
      if (is_of_session(kind)) continue;
      FaultyKernel faulty =
          inject_fault(suite_, source_.reference(), kernel, kind, sandbox_, options_.cancelled);
      faulty_[faulty.kernel] = faulty.implementation;
    }
    target_executable_ = implement_target({});
    inject_session_faults();
    sandbox_.load(target_executable_);
  }

  // Implements for the target, with the fallback schedule for the kernels in `plain`.
  std::shared_ptr<const Executable> implement_target(const std::set<std::string>& plain) const {
    pipeline::ImplementOptions implement = source_.implement_options();
    implement.foreign = user_code_;
    if (rewrites() || !plain.empty()) {
      implement.rewrite = [&](const std::string& kernel, tir::PrimFuncRef scheduled) {
        if (!plain.contains(kernel)) return rewritten(kernel, std::move(scheduled));
        const tir::PrimFunc& loops = passes::kernel_implementation(source_.fixed(), kernel);
        return schedule::fallback(loops, sandbox_.target()).func;
      };
      implement.rewrites = [&](const std::string& kernel) {
        if (faulty_.contains(kernel) || plain.contains(kernel)) return true;
        return options_.rewrite && (!options_.rewrites || options_.rewrites(kernel));
      };
    }
    return pipeline::implement(source_.fixed(), sandbox_.target(), implement);
  }

  static bool has_session_faults(const LocalizeOptions& options) {
    return std::ranges::any_of(options.faults, [](const std::string& text) {
      return is_of_session(parse_fault(text).second);
    });
  }

  // Checks first that each changes an output of the kernel's tests, or of the model on the target.
  void inject_session_faults() {
    if (!has_session_faults(options_)) return;
    if (!sandbox_.isolated()) {
      throw_user("faults of this kind are injected into a session",
                 "--inject-fault " + options_.faults[0], "a process of its own for the kernel", "",
                 "omit --in-process");
    }
    sandbox_.load(target_executable_);
    for (const std::string& text : options_.faults) {
      auto [kernel, kind] = parse_fault(text);
      if (!is_of_session(kind)) continue;
      kernel = faulty_kernel(suite_, kernel);
      const std::vector<HostTensor> tests = carved_outputs(suite_, kernel, sandbox_);
      const std::vector<HostTensor> outputs = target_outputs();
      bool has_effect = false;
      for (size_t site = 0; site < session_sites(kind) && !has_effect; ++site) {
        session_faults_->push_back({kernel, kind, site});
        source_.check_cancelled();
        has_effect = !same_bits(tests, carved_outputs(suite_, kernel, sandbox_)) ||
                     !same_bits(outputs, target_outputs());
        if (!has_effect) session_faults_->pop_back();
      }
      if (!has_effect) {
        throw_user("a fault of this kind changes nothing in this prompt's run",
                   "--inject-fault " + text, "another kernel, or another kind");
      }
    }
  }
  std::vector<HostTensor> target_outputs() {
    ModelRunner model = ModelRunner::under_test(sandbox_.session(), target_executable_, weights_);
    model.vm().set_interrupt(options_.interrupt);
    model.set_watcher(options_.watcher);
    return model.outputs(run_);
  }

  void replay_all() {
    const auto total = std::ssize(suite_.kernels);
    for (const SuiteKernel& kernel : suite_.kernels) {
      if (is_tested(kernel.name)) {
        tell({.kernel = kernel.name, .stage = KernelStage::kWaiting});
      }
    }
    for (int32_t kernel = 0; kernel < total; ++kernel) {
      const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
      if (!is_tested(name)) continue;
      source_.check_cancelled();
      progress("replay " + name, kernel, total);
      tell({.kernel = name, .stage = KernelStage::kTesting});
      KernelVerdict verdict = unwrap(replay_kernel(suite_, source_.reference(), kernel, sandbox_));
      tell({.kernel = name,
            .stage = KernelStage::kDone,
            .verdict = &verdict,
            .outcome = verdict_outcome(verdict),
            .good = verdict.passed});
      if (!verdict.passed) {
        Culprit culprit;
        culprit.kernel = name;
        culprit.verdict = verdict;
        culprit.runs = culprit.failed_runs = 1;
        result_.culprits.push_back(std::move(culprit));
      }
      result_.verdicts.push_back(std::move(verdict));
    }
    progress("replay", total, total);
  }

  // A larger suite also has kernels of other models; a kernel may have no call in it.
  bool is_tested(const std::string& kernel) const {
    return target_executable_->find_kernel(kernel) >= 0 && has_tests(kernel);
  }
  bool has_tests(const std::string& kernel) const {
    const int32_t number = suite_.find_kernel(kernel);
    return std::ranges::find(suite_.calls, number, &SuiteCall::kernel) != suite_.calls.end();
  }

  // Finds culprits among the kernels whose tests pass.
  void bisect() {
    std::vector<std::string> candidates;
    for (const KernelInfo& kernel : source_.executable()->kernels) {
      const bool accused = std::ranges::any_of(
          result_.culprits, [&](const Culprit& one) { return one.kernel == kernel.name; });
      if (!accused && target_executable_->find_kernel(kernel.name) >= 0) {
        candidates.push_back(kernel.name);
      }
    }
    progress("hybrid runs");
    Hybrid hybrid(source_.model(), sandbox_);
    auto check = [&](const std::vector<size_t>& parts) {
      return hybrid.check(named(parts, candidates), source_.model_reference(), run_);
    };
    const size_t before = result_.culprits.size();
    const std::set<std::string> accused = accuse(candidates, Evidence::kHybrid, check);
    result_.hybrid_runs = hybrid.runs();
    if (options_.suite && !accused.empty()) replay_prompt(accused, before);
  }

  using Check = std::function<ModelCheck(const std::vector<size_t>& parts)>;

  static std::set<std::string> named(const std::vector<size_t>& parts,
                                     const std::vector<std::string>& candidates) {
    std::set<std::string> names;
    for (size_t part : parts) names.insert(candidates[part]);
    return names;
  }

  // Finds the kernels that make the model wrong in every run, and accuses them. A model that is
  // wrong only sometimes accuses none.
  std::set<std::string> accuse(const std::vector<std::string>& candidates, Evidence evidence,
                               const Check& check) {
    std::vector<size_t> all(candidates.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    result_.rest = check(all);
    const RepeatedCheck repeated =
        repeat_check(result_.rest, named(all, candidates), [&] { return check(all); });
    if (repeated.flaky()) {
      result_.flaky.push_back(narrowed(repeated, candidates, check));
      return {};
    }
    if (result_.rest.passed) return {};
    const Bisection found =
        minimal_wrong_sets(candidates.size(), [&](const std::vector<size_t>& parts) {
          result_.rest = check(parts);
          return !result_.rest.passed;
        });
    std::set<std::string> accused;
    for (const std::vector<size_t>& set : found.sets) {
      const std::set<std::string> names = named(set, candidates);
      ModelCheck shown;
      RepeatedCheck runs;
      // Each repetition of a hang takes the whole time limit.
      for (bool hung = false; runs.runs < std::max<int64_t>(options_.repeats, 1) && !hung;) {
        const ModelCheck again = check(set);
        ++runs.runs;
        runs.wrong += again.passed ? 0 : 1;
        hung = again.hung;
        if (!again.passed || runs.runs == 1) shown = again;
      }
      if (runs.flaky()) {
        // If it was never wrong, the search was led by chance, and any kernel may be at fault.
        const std::set<std::string> any = runs.wrong > 0 ? names : named(all, candidates);
        runs.candidates.assign(any.begin(), any.end());
        result_.flaky.push_back(std::move(runs));
        continue;
      }
      for (const std::string& name : names) {
        Culprit culprit;
        culprit.kernel = name;
        culprit.evidence = evidence;
        culprit.together_with.assign(names.begin(), names.end());
        std::erase(culprit.together_with, name);
        culprit.verdict = verdict_of(name);
        culprit.runs = runs.runs;
        culprit.failed_runs = runs.wrong;
        culprit.hybrid = shown;
        accused.insert(name);
        result_.culprits.push_back(std::move(culprit));
      }
    }
    return accused;
  }

  // Narrows the candidates, if a model with fewer of them on the target is wrong, too, in one of a
  // few runs.
  RepeatedCheck narrowed(RepeatedCheck flaky, const std::vector<std::string>& candidates,
                         const Check& check) {
    const auto ever_wrong = [&](const std::vector<size_t>& parts) {
      for (int64_t run = 0; run < RepeatedCheck::kRuns; ++run) {
        source_.check_cancelled();
        if (!check(parts).passed) return true;
      }
      return false;
    };
    const Bisection found = minimal_wrong_sets(candidates.size(), ever_wrong);
    std::set<std::string> sure;
    for (const std::vector<size_t>& set : found.sets) {
      if (!ever_wrong(set)) return flaky;
      sure.merge(named(set, candidates));
    }
    if (!sure.empty()) flaky.candidates.assign(sure.begin(), sure.end());
    return flaky;
  }

  // Hybrids without the culprits are right. Kernels that run without waits on the target, and share
  // its memory plan, may still be wrong.
  void bisect_target() {
    // A VM of the target loads all of its kernels or none.
    if (std::ranges::any_of(result_.culprits, [](const Culprit& culprit) {
          return culprit.verdict.failed == Failure::kRefused;
        })) {
      return;
    }
    std::set<std::string> culprits;
    for (const Culprit& culprit : result_.culprits) culprits.insert(culprit.kernel);
    if (bisect_target(target_executable_, culprits)) return;
    // Everything waits around calls on the source, which hides missing waits.
    std::set<std::string> away = culprits;
    if (auto executable = with_stand_ins(away)) {
      bisect_target(executable, away);
      sandbox_.load(target_executable_);
    }
  }

  // The target's executable with plain code for culprits whose plain code is right; these leave
  // `away`. Null if no culprit's is.
  std::shared_ptr<const Executable> with_stand_ins(std::set<std::string>& away) {
    std::set<std::string> plain;
    for (const Culprit& culprit : result_.culprits) {
      const bool is_ours = !user_code_.contains(culprit.kernel);
      if (culprit.evidence == Evidence::kReplay && is_ours) plain.insert(culprit.kernel);
    }
    if (plain.empty()) return nullptr;
    progress("compile stand-ins for " + sandbox_.target().text);
    auto executable = implement_target(plain);
    sandbox_.load(executable);
    for (const std::string& kernel : plain) {
      source_.check_cancelled();
      const int32_t number = suite_.find_kernel(kernel);
      if (unwrap(replay_kernel(suite_, source_.reference(), number, sandbox_)).passed)
        away.erase(kernel);
    }
    const bool any = away.size() < result_.culprits.size();
    if (!any) sandbox_.load(target_executable_);
    return any ? executable : nullptr;
  }

  // Accuses kernels that are wrong in the target's VM with `away` on the source; false: nothing is
  // wrong.
  bool bisect_target(const std::shared_ptr<const Executable>& executable,
                     const std::set<std::string>& away) {
    std::vector<std::string> candidates;
    for (const KernelInfo& kernel : executable->kernels) {
      if (source_.executable()->find_kernel(kernel.name) < 0) continue;
      const bool accused = std::ranges::any_of(
          result_.culprits, [&](const Culprit& one) { return one.kernel == kernel.name; });
      if (!accused) candidates.push_back(kernel.name);
    }
    progress("hybrid runs on " + sandbox_.target().text);
    TargetHybrid hybrid(sandbox_, executable, weights_, source_sandbox_);
    auto check = [&](const std::vector<size_t>& parts) {
      std::set<std::string> remote_target = away;
      remote_target.insert(candidates.begin(), candidates.end());
      for (size_t part : parts) remote_target.erase(candidates[part]);
      ++result_.hybrid_runs;
      source_.check_cancelled();
      return hybrid.check(remote_target, source_.model_reference(), run_);
    };
    std::vector<size_t> all(candidates.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    const ModelCheck rest = check(all);
    if (rest.passed) return false;
    // If the model is wrong without any of them, none is to blame.
    if (!check({}).passed) return true;
    accuse(candidates, Evidence::kTarget, check);
    note_preparations();
    return true;
  }

  void note_preparations() {
    auto preparation = [&](const std::string& kernel) {
      const Implementation* implementation =
          target_executable_->find_implementation(target_executable_->find_kernel(kernel));
      return implementation ? implementation->preparation : "";
    };
    for (Culprit& culprit : result_.culprits) {
      const std::string own = preparation(culprit.kernel);
      if (culprit.evidence != Evidence::kTarget || own.empty()) continue;
      for (const Culprit& other : result_.culprits) {
        if (other.evidence == Evidence::kTarget && other.kernel != culprit.kernel &&
            preparation(other.kernel) == own) {
          culprit.same_preparation.push_back(other.kernel);
        }
      }
    }
  }

  KernelVerdict verdict_of(const std::string& kernel) const {
    for (const KernelVerdict& verdict : result_.verdicts) {
      if (verdict.kernel == kernel) return verdict;
    }
    KernelVerdict none;
    none.kernel = kernel;
    const auto use = std::ranges::find(result_.untested, kernel, &KernelUse::kernel);
    if (use != result_.untested.end()) none.origin = use->origin;
    return none;
  }

  // The suite's inputs did not show the fault: those of this prompt may.
  void replay_prompt(const std::set<std::string>& kernels, size_t first) {
    prompt_suite_ = source_.carve(kernels);
    KernelReference reference(prompt_suite_);
    reference.set_tolerances(options_.tolerances);
    for (size_t i = first; i < result_.culprits.size(); ++i) {
      Culprit& culprit = result_.culprits[i];
      const int32_t kernel = prompt_suite_.find_kernel(culprit.kernel);
      if (kernel < 0) continue;
      KernelVerdict verdict = unwrap(replay_kernel(prompt_suite_, reference, kernel, sandbox_));
      if (!verdict.passed || culprit.verdict.calls == 0) culprit.verdict = std::move(verdict);
    }
  }

  // All kernels are right: checks the program around them.
  void run_target() {
    progress("run on " + sandbox_.target().text);
    result_.target_ran = true;
    const auto run = [this] {
      ModelCheck check;
      {
        std::optional<ModelRunner> model;
        check = contained_check(sandbox_, source_.model_reference(), [&] {
          model = ModelRunner::under_test(sandbox_.session(), target_executable_, weights_);
          model->vm().set_interrupt(options_.interrupt);
          return model->outputs(run_);
        });
      }
      if (!check.failure.empty()) sandbox_.restart();
      return check;
    };
    result_.whole = run();
    std::set<std::string> all;
    for (const KernelInfo& kernel : target_executable_->kernels) all.insert(kernel.name);
    RepeatedCheck repeated = repeat_check(result_.whole, all, run);
    if (repeated.flaky()) result_.flaky.push_back(std::move(repeated));
  }

  // Determines the rate, the smallest failing input and the code of a culprit.
  void examine(Culprit& culprit) {
    culprit.source = source_of(culprit.kernel);
    if (culprit.verdict.passed) return;
    const bool in_suite = !verdict_of(culprit.kernel).passed;
    const Suite& suite = in_suite ? suite_ : prompt_suite_;
    culprit.failing = one_call(suite, failing_call(suite, culprit.verdict));
    const Suite& failing = *culprit.failing;
    KernelReference reference(failing);
    reference.set_tolerances(options_.tolerances);
    std::optional<KernelVerdict> again;  // from the last run of that call alone
    auto run_again = [&] {
      source_.check_cancelled();
      again = unwrap(replay_kernel(failing, reference, 0, sandbox_, {.launches = 1}));
      if (culprit.evidence != Evidence::kReplay) return;  // its rate is that of the hybrid runs
      ++culprit.runs;
      culprit.failed_runs += again->passed ? 0 : 1;
    };
    const LaunchCount& launches = culprit.verdict.launches;
    if (culprit.evidence == Evidence::kReplay && launches.flaky) {
      // The launches before one may decide: the rate is that of all launches.
      culprit.runs = launches.launches;
      culprit.failed_runs = launches.wrong;
      return;
    }
    if (culprit.evidence == Evidence::kReplay) {
      // Each repetition of a hang takes the whole time limit.
      const int64_t most = culprit.verdict.failed == Failure::kTimeout ? 1 : options_.repeats;
      while (culprit.runs < most) run_again();
    }
    if (options_.shrink_time.count() == 0) return;
    ShrinkOptions shrink;
    shrink.time = options_.shrink_time;
    shrink.cancelled = options_.cancelled;
    // A call that does not fail again is flaky: an input reduced with it would be due to chance.
    if (culprit.failed_runs == culprit.runs && !again) run_again();
    if (culprit.failed_runs < culprit.runs || again->passed) return;
    culprit.smallest = shrink_call(failing, *again, sandbox_, source_sandbox_, shrink);
  }

  // The call with the largest error, or the one that could not run.
  static size_t failing_call(const Suite& suite, const KernelVerdict& verdict) {
    for (size_t c = 0; c < suite.calls.size(); ++c) {
      const std::string& name = suite.kernels[static_cast<size_t>(suite.calls[c].kernel)].name;
      if (suite.calls[c].sequence == verdict.worst_sequence && name == verdict.kernel) return c;
    }
    throw_internal("a verdict names a call that the suite lacks", verdict.kernel);
  }

  KernelSource source_of(const std::string& kernel) {
    pipeline::ImplementOptions implement = source_.implement_options();
    implement.foreign = user_code_;
    implement.rewrite = [this](const std::string& name, tir::PrimFuncRef scheduled) {
      return rewritten(name, std::move(scheduled));
    };
    return kernel_source(source_.fixed(), kernel, sandbox_.target(), std::move(implement),
                         options_.custom_sources);
  }

  const std::map<std::string, HostTensor>& weights_;
  SourceRun source_;
  const Suite& suite_ = source_.suite();
  const ForcedRun& run_ = source_.forced();
  Sandbox source_sandbox_;  // the source, for inputs without recorded outputs
  SessionFaults session_faults_ = std::make_shared<std::vector<SessionFault>>();
  Sandbox sandbox_;
  const LocalizeOptions& options_;
  std::map<std::string, pipeline::ForeignKernel> user_code_;
  std::shared_ptr<const Executable> target_executable_;
  Suite prompt_suite_;
  std::map<std::string, tir::PrimFuncRef> faulty_;
  Localization result_;
};

}  // namespace

Localization localize(const Module& module, const std::map<std::string, HostTensor>& weights,
                      const std::vector<int32_t>& prompt, const Platform& source,
                      const Platform& target, const LocalizeOptions& options) {
  return Localizer(module, weights, prompt, source, target, options).run();
}

}  // namespace tapml::topdown
