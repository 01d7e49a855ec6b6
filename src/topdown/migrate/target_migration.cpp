#include "topdown/migrate/target_migration.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "ir/exceptions.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/kernels/kernel_source.h"
#include "topdown/replay/replay.h"
#include "topdown/results/sampler_words.h"
#include "topdown/runner/kernel_speed.h"
#include "topdown/suite/select_calls.h"

namespace tapml::topdown {

namespace {

// The step as after its tests, before any hybrid run.
MigrationStep tested(MigrationStep step) {
  step.migrated = step.verdict.passed;
  step.hybrid = {};
  step.dispatched = 0;
  step.copies = {};
  return step;
}

}  // namespace

// Adds its lifetime to the target's time and timeline.
class TargetMigration::ScopedTimer {
 public:
  explicit ScopedTimer(TargetMigration& migration) : migration_(migration), start_(seconds_now()) {}
  ~ScopedTimer() {
    migration_.timeline_.end();
    migration_.seconds_ += seconds_now() - start_;
  }
  ScopedTimer(const ScopedTimer&) = delete;

 private:
  TargetMigration& migration_;
  double start_;
};

TargetMigration::TargetMigration(SourceRun& source, const MigrationTarget& target,
                                 const MigrateOptions& options, bool several)
    : source_(source),
      given_(target),
      options_(options),
      several_(several),
      sandbox_(target.platform, options_.cancelled),
      implement_(source.implement_options()) {
  result_.source = source_.platform().target.text;
  result_.target = target.platform.target.text;
  result_.allowances = allowances_text(target.platform.target.description.allowances);
  result_.source_info = source_.platform().session->info();
  result_.drawn = options_.sampler.temperature > 0;
}

void TargetMigration::check_state() {
  if (!given_.state.empty()) MigrationState::check(given_.state, known_identity());
}

void TargetMigration::check_custom_kernels() {
  const CustomKernels user(given_.custom_sources, source_.fixed());
  implement_.foreign = user.compile(source_.fixed(), target(), options_.cancelled);
  user.check(implement_.foreign, target(), sandbox_.session());
  result_.target_info = sandbox_.session().info();
}

void TargetMigration::prepare() {
  timeline_ = source_.timeline();
  if (source_.nan()) return;
  const ScopedTimer timer(*this);
  progress("compile for " + target().text);
  if (!given_.fault.empty()) {
    auto [kernel, kind] = parse_fault(given_.fault);
    FaultyKernel faulty = inject_fault(source_.suite(), source_.reference(), kernel, kind, sandbox_,
                                       options_.cancelled);
    implement_.rewrite = [faulty](const std::string& name, tir::PrimFuncRef scheduled) {
      return name == faulty.kernel ? faulty.implementation : scheduled;
    };
  }
  executable_ = pipeline::implement(source_.fixed(), target(), implement_);
  sandbox_.load(executable_);
  if (!given_.state.empty()) {
    state_.emplace(MigrationState::open(given_.state, identity(),
                                        code_digests(*executable_, result_.target_info)));
  }
  units_ = plan_migration(source_.suite(), source_.reference(), *executable_, options_.plan);
  for (const MigrationUnit& unit : units_) {
    for (int32_t kernel : unit.kernels) tell(name_of(kernel), KernelStage::kWaiting);
  }
  hybrid_ = std::make_unique<Hybrid>(source_.model(), sandbox_);
  if (options_.plan.layer_by_layer) {
    layers_ = std::make_unique<LayerMoves>(
        source_.suite(), [this](const std::string& layer, const CallChoice& choice) {
          return run_layers(layer, choice);
        });
  }
}

void TargetMigration::move_next() {
  const ScopedTimer timer(*this);
  // Servers end idle sessions, and the other targets may have taken long.
  if (several_) sandbox_.refresh();
  const MigrationUnit& unit = units_[next_];
  std::vector<MigrationStep> steps;
  if (state_) steps = state_->steps_of(unit.name, names_of(unit));
  if (steps.empty()) {
    source_.check_cancelled();
    tested_.push_back(test_unit(unit));
    ++next_;
    if (hybrid_is_due()) settle();
    return;
  }
  settle();
  if (kernels_done()) return;  // it has stopped
  ++next_;
  result_.resumed += std::ssize(steps);
  for (MigrationStep& step : steps) {
    // If the layers are tried again, earlier results of layers do not count.
    if (layers_ && state_->layers().empty()) step = tested(std::move(step));
    tell_end(step);
    if (step.migrated) moved_.insert(step.verdict.kernel);
  }
  keep(std::move(steps));
}

// Whether those that are tested have to run in the model before another one is.
bool TargetMigration::hybrid_is_due() const {
  if (next_ == units_.size() || std::ssize(tested_) == options_.plan.hybrid_every) return true;
  return options_.stop_at_first && std::ranges::any_of(tested_.back().steps, [](const auto& step) {
           return !step.verdict.passed;
         });
}

void TargetMigration::move_next_layer() {
  const ScopedTimer timer(*this);
  if (several_) sandbox_.refresh();
  const std::string& name = layers_->next().name;
  if (const LayerStep* known = state_ ? state_->layer(name) : nullptr) {
    layers_->take(*known);
    result_.layers.push_back(*known);
  } else {
    source_.check_cancelled();
    progress_of("hybrid", name, std::ssize(result_.layers), std::ssize(layers_->layers()));
    const LayerMoves::Steps steps = steps_by_kernel();
    for (int32_t kernel : layers_->next().kernels) tell(name_of(kernel), KernelStage::kHybrid);
    result_.layers.push_back(layers_->move_next(steps));
    std::vector<MigrationStep> updated;
    for (const std::string& kernel : result_.layers.back().kernels) {
      tell_end(*steps.at(kernel));
      updated.push_back(*steps.at(kernel));
    }
    if (state_) state_->add(result_.layers.back(), updated);
  }
  if (options_.stop_at_first && !result_.layers.back().left.empty()) leave_rest();
}

void TargetMigration::finish() {
  const ScopedTimer timer(*this);
  hybrid_.reset();
  if (several_) sandbox_.refresh();
  explain_failures();
  if (options_.for_report) keep_sources();
  if (result_.culprits().empty()) run_alone();
  if (options_.for_report) measure_speed();
}

void TargetMigration::end(const Error& error) {
  result_.error = error;
  leave_rest();
  hybrid_.reset();
}

Migration TargetMigration::take() {
  result_.source_tokens = source_.tokens();
  result_.margins = source_.token_margins();
  result_.source_nan = source_.nan();
  if (!source_.nan()) result_.untested = source_.untested(result_.target_info);
  if (ended() && units_.empty()) {
    for (int32_t kernel = 0; kernel < std::ssize(source_.suite().kernels); ++kernel) {
      leave_untried(kernel);
    }
  }
  result_.timeline = timeline_.take();
  result_.seconds = seconds_;
  for (const TimelineSpan& span : source_.timeline().spans()) result_.seconds += span.seconds;
  return std::move(result_);
}

void TargetMigration::progress(const std::string& step) {
  timeline_.begin("steps", step);
  if (options_.progress) options_.progress(step, 0, 0);
}

void TargetMigration::progress_of(const char* lane, const std::string& name, int64_t done,
                                  int64_t total) {
  timeline_.begin(lane, name);
  if (!options_.progress) return;
  options_.progress(several_ ? name + " on " + target().text : name, done, total);
}

void TargetMigration::tell(const std::string& kernel, KernelStage stage) const {
  if (!options_.watch) return;
  options_.watch(
      {.kernel = kernel, .stage = stage, .target = several_ ? target().text : std::string()});
}

void TargetMigration::tell_end(const MigrationStep& step) const {
  if (!options_.watch) return;
  options_.watch({.kernel = step.verdict.kernel,
                  .stage = KernelStage::kDone,
                  .verdict = &step.verdict,
                  .outcome = outcome_of(step),
                  .good = step.migrated,
                  .target = several_ ? target().text : std::string()});
}

const std::string& TargetMigration::name_of(int32_t kernel) const {
  return source_.suite().kernels[static_cast<size_t>(kernel)].name;
}

std::vector<std::string> TargetMigration::names_of(const MigrationUnit& unit) const {
  std::vector<std::string> names;
  for (int32_t kernel : unit.kernels) names.push_back(name_of(kernel));
  return names;
}

MigrationIdentity TargetMigration::identity() {
  MigrationIdentity identity = known_identity();
  identity.emplace_back("suite", source_.suite_digest());
  return identity;
}

MigrationIdentity TargetMigration::known_identity() {
  const PlanOptions& plan = options_.plan;
  std::string granularity = plan.layer_by_layer ? "layer-by-layer"
                            : plan.by_layer     ? "layer"
                                                : "kernel";
  for (const KernelGroup& group : plan.groups) {
    granularity += " " + group.name + "=";
    for (const std::string& glob : group.globs) granularity += glob + ",";
  }
  std::string prompt;
  for (int32_t token : source_.prompt()) prompt += std::to_string(token) + " ";
  for (const auto& text : source_.forced().texts) {
    prompt += "text: ";
    for (int32_t token : text) prompt += std::to_string(token) + " ";
  }
  prompt += sampler_words(options_.sampler);
  prompt += options_.inputs.digest();
  return {{"source", result_.source},
          {"target", result_.target},
          {"fusion policy", source_.fixed().facts.fusion_policy},
          {"model", source_.weights_digest()},
          {"prompt tokens", prompt},
          {"validation tokens", std::to_string(options_.validation_tokens)},
          {"order", migration_order_name(plan.order)},
          {"granularity", granularity},
          {"tolerances", options_.tolerances.text()},
          {"fault", given_.fault}};
}

void TargetMigration::leave_untried(int32_t kernel) {
  result_.untried.push_back(name_of(kernel));
  result_.untried_calls.push_back(call_groups(source_.suite(), kernel));
}

void TargetMigration::leave_rest() {
  // No kernel counts as tried of a unit that an error has cut short.
  for (const Tested& one : std::exchange(tested_, {})) {
    for (int32_t kernel : one.unit->kernels) leave_untried(kernel);
  }
  for (; next_ < units_.size(); ++next_) {
    for (int32_t kernel : units_[next_].kernels) leave_untried(kernel);
  }
  if (!layers_) return;
  for (LayerStep& layer : layers_->leave_rest()) result_.layers.push_back(std::move(layer));
}

// A lost device is not the kernel's fault: opening it again throws then.
void TargetMigration::expect_device(bool ran) {
  if (!ran) sandbox_.session();
}

TargetMigration::Tested TargetMigration::test_unit(const MigrationUnit& unit) {
  Tested result{&unit, {}};
  int64_t done = std::ssize(result_.steps);
  for (const Tested& other : tested_) done += std::ssize(other.steps);
  for (int32_t kernel : unit.kernels) {
    progress_of("replay", name_of(kernel), done++, std::ssize(source_.suite().kernels));
    tell(name_of(kernel), KernelStage::kTesting);
    MigrationStep& step = result.steps.emplace_back();
    step.unit = unit.name;
    step.verdict = unwrap(replay_kernel(source_.suite(), source_.reference(), kernel, sandbox_));
    expect_device(step.verdict.failed == Failure::kNone);
    if (layers_) step = tested(std::move(step));
    if (layers_ || !step.verdict.passed) tell_end(step);
  }
  return result;
}

std::vector<MigrationStep*> TargetMigration::Tested::right() {
  std::vector<MigrationStep*> result;
  for (MigrationStep& step : steps) {
    if (step.verdict.passed) result.push_back(&step);
  }
  return result;
}

// Runs the model with the units that are tested, and keeps their steps.
void TargetMigration::settle() {
  std::vector<Tested*> units;
  for (Tested& one : tested_) {
    if (!layers_ && !one.right().empty()) units.push_back(&one);
  }
  move_units(units, false);
  std::vector<MigrationStep> steps;
  for (Tested& one : std::exchange(tested_, {})) {
    std::ranges::move(one.steps, std::back_inserter(steps));
  }
  if (state_ && !steps.empty()) state_->add(steps);
  keep(std::move(steps));
}

void TargetMigration::keep(std::vector<MigrationStep> steps) {
  bool stopped = false;
  for (MigrationStep& step : steps) {
    stopped |= options_.stop_at_first && !step.migrated && !layers_;
    result_.steps.push_back(std::move(step));
  }
  if (stopped) leave_rest();
}

// Moves the units together; if the model is wrong with them, as is `known_wrong`, each half of them
// in turn, and the kernels of one unit one after the other, so that only those stay that make it
// wrong.
void TargetMigration::move_units(std::span<Tested*> units, bool known_wrong) {
  if (units.empty()) return;
  std::vector<MigrationStep*> steps;
  for (Tested* one : units) std::ranges::copy(one->right(), std::back_inserter(steps));
  const std::string more = std::to_string(units.size() - 1) + " more";
  const std::string& first = units[0]->unit->name;
  if (!known_wrong && try_together(units.size() == 1 ? first : first + " and " + more, steps)) {
    return;
  }
  // Which of them look right alone would be chance.
  if (steps.size() == 1 || steps[0]->repeated.flaky()) return;
  if (units.size() == 1) {
    for (MigrationStep* one : steps) try_together(first, {one});
    return;
  }
  const size_t half = units.size() / 2;
  move_units(units.first(half), false);
  // If all of the first half has moved, the second one makes the model that was wrong.
  const bool is_same = std::ranges::all_of(units.first(half), [](Tested* one) {
    return std::ranges::all_of(one->right(),
                               [](const MigrationStep* step) { return step->migrated; });
  });
  move_units(units.subspan(half), is_same);
}

// Whether the model is right with these steps of units on the target, too; if so, they stay there.
bool TargetMigration::try_together(const std::string& name,
                                   const std::vector<MigrationStep*>& steps) {
  timeline_.begin("hybrid", steps.size() == 1 ? steps[0]->verdict.kernel : name);
  std::set<std::string> together = moved_;
  for (const MigrationStep* step : steps) {
    together.insert(step->verdict.kernel);
    tell(step->verdict.kernel, KernelStage::kHybrid);
  }
  const auto run = [&] {
    ModelCheck check = hybrid_->check(together, source_.model_reference(), source_.forced());
    expect_device(check.failure.empty());
    return check;
  };
  const ModelCheck check = run();
  const RepeatedCheck repeated = repeat_check(check, together, run);
  for (MigrationStep* step : steps) {
    step->hybrid = check;
    step->repeated = repeated;
    step->dispatched = hybrid_->dispatched();
    step->migrated = check.passed;
    tell_end(*step);
  }
  // One run, whose copies count once.
  steps.back()->copies += hybrid_->copies();
  if (check.passed) moved_ = std::move(together);
  return check.passed;
}

LayerMoves::Steps TargetMigration::steps_by_kernel() {
  LayerMoves::Steps steps;
  for (MigrationStep& step : result_.steps) steps[step.verdict.kernel] = &step;
  return steps;
}

LayerRun TargetMigration::run_layers(const std::string& layer, const CallChoice& choice) {
  timeline_.begin("hybrid", layer);
  LayerRun run;
  std::set<std::string> kernels;  // that `choice` selects
  const auto noted = [&](const runtime::CallSite& site) {
    const bool chosen = choice(site);
    if (chosen) kernels.insert(site.kernel->name);
    return chosen;
  };
  const auto check = [&] {
    ModelCheck checked = hybrid_->check(noted, source_.model_reference(), source_.forced());
    expect_device(checked.failure.empty());
    return checked;
  };
  run.check = check();
  run.repeated = repeat_check(run.check, kernels, check);
  run.dispatched = hybrid_->dispatched();
  run.copies = hybrid_->copies();
  return run;
}

// For what stays on the source: its code, and the call on which it fails.
void TargetMigration::explain_failures() {
  const Suite& suite = source_.suite();
  for (const MigrationStep* step : result_.culprits()) {
    const KernelVerdict& verdict = step->verdict;
    FailedKernel& failed = result_.failed[verdict.kernel];
    failed.source =
        kernel_source(source_.fixed(), verdict.kernel, target(), implement_, given_.custom_sources);
    if (verdict.passed) continue;
    const int32_t kernel = suite.find_kernel(verdict.kernel);
    for (size_t c = 0; c < suite.calls.size() && !failed.suite; ++c) {
      const SuiteCall& call = suite.calls[c];
      if (call.kernel == kernel && call.sequence == verdict.worst_sequence) {
        failed.suite = one_call(suite, c);
      }
    }
  }
}

void TargetMigration::keep_sources() {
  progress("code for " + target().text);
  for (const MigrationStep& step : result_.steps) {
    const std::string& kernel = step.verdict.kernel;
    if (result_.failed.contains(kernel)) continue;
    source_.check_cancelled();
    result_.sources[kernel] =
        kernel_source(source_.fixed(), kernel, target(), implement_, given_.custom_sources);
  }
}

void TargetMigration::run_alone() {
  progress("run on " + target().text);
  result_.target_ran = true;
  const auto run = [&](bool generates) {
    ModelCheck check;
    Status finite;
    {
      std::optional<ModelRunner> model;
      check = contained_check(sandbox_, source_.model_reference(), [&] {
        model = ModelRunner::under_test(sandbox_.session(), executable_, source_.weights());
        model->vm().set_interrupt(options_.interrupt);
        model->set_watcher(options_.watcher);
        std::vector<HostTensor> outputs = model->outputs(source_.forced());
        if (!generates) return outputs;
        const llm::Generation own = source_.generate(*model, options_.max_tokens);
        result_.target_tokens = own.tokens;
        if (own.reason == llm::StopReason::kNotFinite) {
          finite = guard([&] { source_.fail_not_finite(*model); });
        }
        return outputs;
      });
    }
    if (!finite && check.failure.empty()) {
      check.passed = false;
      check.failure = finite.error().message;
    }
    if (!check.failure.empty()) sandbox_.restart();
    return check;
  };
  result_.whole = run(true);
  std::set<std::string> all;
  for (const KernelInfo& kernel : executable_->kernels) all.insert(kernel.name);
  result_.repeated = repeat_check(result_.whole, all, [&] { return run(false); });
  if (!result_.whole.failure.empty()) return;
  const auto &a = source_.tokens(), &b = result_.target_tokens;
  if (a == b) return;
  size_t at = 0;
  while (at < std::min(a.size(), b.size()) && a[at] == b[at]) ++at;
  result_.first_divergence = static_cast<int64_t>(at);
  if (result_.drawn) return;
  // A tie: the reference cannot tell which of the two choices is more likely.
  result_.tie =
      std::max(source_.margin_at(at, a), source_.margin_at(at, b)) <= 2 * result_.whole.bound;
}

void TargetMigration::measure_speed() {
  progress("speed on " + target().text);
  source_.check_cancelled();
  std::vector<int32_t> right;
  for (const MigrationStep& step : result_.steps) {
    if (step.verdict.passed) right.push_back(source_.suite().find_kernel(step.verdict.kernel));
  }
  result_.speed = topdown::measure_speed(source_.suite(), right, sandbox_, options_.cache);
}

}  // namespace tapml::topdown
