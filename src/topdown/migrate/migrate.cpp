#include "topdown/migrate/migrate.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "ir/exceptions.h"
#include "topdown/kernels/user_kernels.h"
#include "topdown/localize/shrink.h"
#include "topdown/migrate/migration_state.h"
#include "topdown/replay/hybrid.h"
#include "topdown/report/command_line.h"
#include "topdown/report/report.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {

namespace {

void check_cancelled(const MigrateOptions& options) {
  if (options.cancelled && options.cancelled()) {
    throw_platform(PlatformFault::kCancelled, "interrupted");
  }
}

class Migrator {
 public:
  Migrator(const Module& module, const std::map<std::string, HostTensor>& weights,
           const std::vector<int32_t>& prompt, const Platform& source, const Platform& target,
           const MigrateOptions& options)
      : weights_(weights),
        prompt_(prompt),
        source_(source),
        sandbox_(target, options.cancelled),
        options_(options),
        module_(module) {}

  Migration run() {
    progress("compile for " + source_.target.text);
    pipeline::ImplementOptions implement;
    implement.instruments.poll = [this] { check_cancelled(options_); };
    implement.libraries = options_.libraries;
    implement.cache = options_.cache;
    implement.module_per_kernel = true;
    fixed_ = pipeline::fix_kernels(module_, implement.instruments);
    // Before the model runs: what is wrong with them needs no run.
    const UserKernels user(options_.user_sources, fixed_);
    const auto user_code = user.compile(fixed_, sandbox_.target(), options_.cancelled);
    user.check(user_code, sandbox_.target(), sandbox_.session());
    auto source_executable = pipeline::implement(fixed_, source_.target, implement);
    engine_ = unwrap(llm::Engine::create(*source_.session, source_executable, weights_));
    engine_->vm().set_interrupt(options_.interrupt);
    result_.source = source_.target.text;
    result_.target = sandbox_.target().text;
    result_.drawn = options_.sampler.temperature > 0;
    result_.source_info = source_.session->info();
    result_.target_info = sandbox_.session().info();

    progress("run on " + source_.target.text);
    result_.source_tokens = generate(*engine_, options_.max_tokens);
    progress("carve");
    carve(*source_executable);
    if (result_.source_nan) return finish();
    Judge judge(suite_);
    judge.set_poll([this] { check_cancelled(options_); });
    judge.set_tolerances(options_.tolerances);

    progress("judge the whole model");
    run_.prompt = prompt_;
    run_.cancelled = options_.cancelled;
    run_.forced.assign(result_.source_tokens.begin(),
                       result_.source_tokens.begin() +
                           std::min<std::ptrdiff_t>(options_.validation_tokens,
                                                    std::ssize(result_.source_tokens)));
    const ModelJudge model_judge = ModelJudge::of(module_, weights_, *engine_, run_);

    progress("compile for " + sandbox_.target().text);
    if (!options_.plant.empty()) {
      auto [kernel, kind] = parse_plant(options_.plant);
      PlantedKernel planted = plant(suite_, judge, kernel, kind, sandbox_, options_.cancelled);
      implement.rewrite = [planted](const std::string& name, tir::PrimFuncRef scheduled) {
        return name == planted.kernel ? planted.implementation : scheduled;
      };
    }
    implement.foreign = user_code;
    auto target_executable = pipeline::implement(fixed_, sandbox_.target(), implement);
    sandbox_.load(target_executable);
    move_kernels(judge, model_judge, *target_executable);
    explain_failures(implement);
    if (result_.culprits().empty()) run_target(target_executable, model_judge);
    if (options_.measure_speed) measure_speed();
    return finish();
  }

 private:
  Migration finish() {
    result_.timeline = timeline_.take();
    result_.seconds = timeline_.now();
    return std::move(result_);
  }
  void progress(const std::string& step, int64_t done = 0, int64_t total = 0) {
    timeline_.begin(total == 0 ? "steps" : "replay", step);
    if (options_.progress) options_.progress(step, done, total);
  }

  void tell(const std::string& kernel, KernelStage stage) const {
    if (options_.watch) options_.watch({.kernel = kernel, .stage = stage});
  }
  void tell_end(const MigrationStep& step) const {
    if (!options_.watch) return;
    options_.watch({.kernel = step.verdict.kernel,
                    .stage = KernelStage::kDone,
                    .verdict = &step.verdict,
                    .outcome = outcome_of(step),
                    .good = step.migrated});
  }

  std::vector<int32_t> generate(llm::Engine& engine, int64_t tokens) {
    llm::GenerateOptions generate;
    generate.max_tokens = tokens;
    generate.eos = options_.eos;
    generate.sampler = options_.sampler;
    generate.on_token = [this](int32_t) { return !options_.cancelled || !options_.cancelled(); };
    std::vector<int32_t> result = unwrap(engine.generate(prompt_, generate)).tokens;
    check_cancelled(options_);
    return result;
  }

  void carve(const Executable& executable) {
    unwrap(engine_->clear());
    Carver carver(executable);
    engine_->vm().call_point().set_observer(&carver);
    std::vector<int32_t> tokens =
        generate(*engine_, std::min(options_.max_tokens, options_.validation_tokens));
    engine_->vm().call_point().set_observer(nullptr);
    result_.source_nan = carver.nan();
    suite_ = carver.take();
    if (!std::equal(tokens.begin(), tokens.end(), result_.source_tokens.begin())) {
      throw_internal("the observed run produced other tokens than the plain run");
    }
  }

  // The prompt and, where tokens are drawn, how.
  std::string prompt_text() const {
    std::string text;
    for (int32_t token : prompt_) text += std::to_string(token) + " ";
    return text + sampler_words(options_.sampler);
  }

  MigrationIdentity identity() const {
    const PlanOptions& plan = options_.plan;
    std::string granularity = plan.by_layer ? "layer" : "kernel";
    for (const KernelGroup& group : plan.groups) {
      granularity += " " + group.name + "=";
      for (const std::string& glob : group.globs) granularity += glob + ",";
    }
    return {{"source", source_.target.text},
            {"target", result_.target},
            {"boundary policy", suite_.boundary_policy},
            {"model", suite_.model + " " + weights_hash(weights_)},
            {"prompt tokens", prompt_text()},
            {"validation tokens", std::to_string(run_.forced.size())},
            {"suite", suite_hash(suite_)},
            {"order", migration_order_name(plan.order)},
            {"granularity", granularity},
            {"tolerances", options_.tolerances.text()},
            {"plant", options_.plant}};
  }

  void move_kernels(Judge& judge, const ModelJudge& model_judge, const Executable& executable) {
    std::optional<MigrationState> state;
    if (!options_.state.empty()) {
      state.emplace(MigrationState::open(options_.state, identity(),
                                         code_digests(executable, result_.target_info)));
    }
    const std::vector<MigrationUnit> units =
        plan_migration(suite_, judge, executable, options_.plan);
    for (const MigrationUnit& unit : units) {
      for (int32_t kernel : unit.kernels) tell(name_of(kernel), KernelStage::kWaiting);
    }
    Hybrid hybrid(*engine_, sandbox_);
    std::set<std::string> moved;
    auto total = static_cast<int64_t>(suite_.kernels.size());
    bool stopped = false;
    for (const MigrationUnit& unit : units) {
      if (stopped) {
        for (int32_t kernel : unit.kernels) {
          result_.untried.push_back(name_of(kernel));
          result_.untried_calls.push_back(call_groups(suite_, kernel));
        }
        continue;
      }
      std::vector<MigrationStep> steps;
      if (state) steps = state->steps_of(unit.name, names_of(unit));
      if (!steps.empty()) {
        result_.resumed += std::ssize(steps);
        for (const MigrationStep& step : steps) tell_end(step);
      } else {
        check_cancelled(options_);
        steps = move_unit(unit, judge, model_judge, hybrid, moved, total);
        if (state) state->add(steps);
      }
      for (MigrationStep& step : steps) {
        if (step.migrated) moved.insert(step.verdict.kernel);
        stopped |= options_.stop_at_first && !step.migrated;
        result_.steps.push_back(std::move(step));
      }
    }
    timeline_.end();
    if (options_.progress) options_.progress("kernels", total, total);
  }

  // Of what stays on the source: its source, and the call on which it fails.
  void explain_failures(const pipeline::ImplementOptions& implement) {
    for (const MigrationStep* step : result_.culprits()) {
      const KernelVerdict& verdict = step->verdict;
      FailedKernel& failed = result_.failed[verdict.kernel];
      failed.source = kernel_source(fixed_, verdict.kernel, sandbox_.target(), implement,
                                    options_.user_sources);
      if (verdict.passed) continue;
      const int32_t kernel = suite_.find_kernel(verdict.kernel);
      for (size_t c = 0; c < suite_.calls.size() && !failed.suite; ++c) {
        const SuiteCall& call = suite_.calls[c];
        if (call.kernel == kernel && call.sequence == verdict.worst_sequence) {
          failed.suite = one_call(suite_, c);
        }
      }
    }
  }

  void measure_speed() {
    progress("speed on " + sandbox_.target().text);
    check_cancelled(options_);
    std::vector<int32_t> right;
    for (const MigrationStep& step : result_.steps) {
      if (step.verdict.passed) right.push_back(suite_.find_kernel(step.verdict.kernel));
    }
    result_.speed = topdown::measure_speed(suite_, right, sandbox_, options_.cache);
  }

  const std::string& name_of(int32_t kernel) const {
    return suite_.kernels[static_cast<size_t>(kernel)].name;
  }
  std::vector<std::string> names_of(const MigrationUnit& unit) const {
    std::vector<std::string> names;
    for (int32_t kernel : unit.kernels) names.push_back(name_of(kernel));
    return names;
  }

  // That a device is gone is no kernel's fault: opening it again throws then.
  void expect_device(bool ran) {
    if (!ran) sandbox_.session();
  }

  // Whatever of the unit passes its tests moves at once; where that is wrong in the model, one
  // kernel after the other, so that only those stay that make it wrong.
  std::vector<MigrationStep> move_unit(const MigrationUnit& unit, Judge& judge,
                                       const ModelJudge& model_judge, Hybrid& hybrid,
                                       std::set<std::string> moved, int64_t total) {
    std::vector<MigrationStep> steps;
    std::vector<size_t> good;
    for (int32_t kernel : unit.kernels) {
      progress(name_of(kernel), std::ssize(result_.steps) + std::ssize(steps), total);
      tell(name_of(kernel), KernelStage::kTesting);
      MigrationStep& step = steps.emplace_back();
      step.unit = unit.name;
      step.verdict = unwrap(replay_kernel(suite_, judge, kernel, sandbox_));
      expect_device(step.verdict.failed == Failure::kNone);
      if (step.verdict.passed) {
        good.push_back(steps.size() - 1);
      } else {
        tell_end(step);
      }
    }
    auto try_together = [&](std::span<const size_t> chosen) {
      timeline_.begin("hybrid", chosen.size() == 1 ? steps[chosen[0]].verdict.kernel : unit.name);
      std::set<std::string> together = moved;
      for (size_t i : chosen) {
        together.insert(steps[i].verdict.kernel);
        tell(steps[i].verdict.kernel, KernelStage::kHybrid);
      }
      const ModelCheck check = hybrid.check(together, model_judge, run_);
      expect_device(check.failure.empty());
      for (size_t i : chosen) {
        steps[i].hybrid = check;
        steps[i].dispatched = hybrid.dispatched();
        steps[i].migrated = check.passed;
        tell_end(steps[i]);
      }
      // One run, whose copies count once.
      steps[chosen.back()].copies += hybrid.copies();
      if (check.passed) moved = std::move(together);
      return check.passed;
    };
    if (good.empty() || try_together(good) || good.size() == 1) return steps;
    for (const size_t& i : good) try_together({&i, 1});
    return steps;
  }

  void run_target(const std::shared_ptr<const Executable>& executable,
                  const ModelJudge& model_judge) {
    progress("run on " + sandbox_.target().text);
    result_.target_ran = true;
    {
      std::unique_ptr<llm::Engine> engine;
      result_.whole = contained_check(sandbox_, model_judge, [&] {
        engine = unwrap(llm::Engine::create(sandbox_.session(), executable, weights_));
        engine->vm().set_interrupt(options_.interrupt);
        std::vector<HostTensor> logits = forced_logits(*engine, run_);
        result_.target_tokens = generate(*engine, options_.max_tokens);
        return logits;
      });
    }
    if (!result_.whole.failure.empty()) {
      sandbox_.restart();
      return;
    }
    const auto &a = result_.source_tokens, &b = result_.target_tokens;
    if (a == b) return;
    size_t at = 0;
    while (at < std::min(a.size(), b.size()) && a[at] == b[at]) ++at;
    result_.first_divergence = static_cast<int64_t>(at);
    result_.tie = !result_.drawn && is_tie(at);
  }

  // Both choices at position `at` are as likely as the judge can tell. That of a text that has
  // ended there was a stop token, the likeliest one.
  bool is_tie(size_t at) {
    std::vector<int32_t> sequence = prompt_;
    sequence.insert(sequence.end(), result_.source_tokens.begin(),
                    result_.source_tokens.begin() + static_cast<std::ptrdiff_t>(at));
    const ModelJudge judge(judge_logits(module_, engine_->model(), weights_, sequence),
                           sequence.size(), {});
    auto margin = [&](const std::vector<int32_t>& tokens) {
      if (at < tokens.size()) return judge.margin(0, tokens[at]);
      double least = std::numeric_limits<double>::infinity();
      for (int32_t token : options_.eos) least = std::min(least, judge.margin(0, token));
      return least;
    };
    return std::max(margin(result_.source_tokens), margin(result_.target_tokens)) <=
           2 * result_.whole.bound;
  }

  const std::map<std::string, HostTensor>& weights_;
  const std::vector<int32_t>& prompt_;
  const Platform& source_;
  // Before the engine, which may hold copies on it.
  Sandbox sandbox_;
  const MigrateOptions& options_;
  Module module_, fixed_;
  std::unique_ptr<llm::Engine> engine_;
  Suite suite_;
  ForcedRun run_;
  Timeline timeline_;
  Migration result_;
};

}  // namespace

bool Migration::passed() const {
  return culprits().empty() && target_ran && whole.passed && (first_divergence < 0 || drawn || tie);
}

std::vector<const MigrationStep*> Migration::culprits() const {
  std::vector<const MigrationStep*> result;
  for (const MigrationStep& step : steps) {
    if (!step.migrated) result.push_back(&step);
  }
  return result;
}

Migration migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                  const std::vector<int32_t>& prompt, const Platform& source,
                  const Platform& target, const MigrateOptions& options) {
  return Migrator(module, weights, prompt, source, target, options).run();
}

}  // namespace tapml::topdown
