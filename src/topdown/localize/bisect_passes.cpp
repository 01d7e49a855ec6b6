#include "topdown/localize/bisect_passes.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "ir/exceptions.h"
#include "passes/defuse.h"
#include "passes/kernel.h"
#include "text/printer.h"
#include "topdown/localize/bisect.h"
#include "topdown/reference_run/allowed.h"
#include "topdown/runner/hybrid.h"

namespace tapml::topdown {

namespace {

// The source's largest error, as a fraction of the largest logit, that can excuse an error of the
// target: bf16 models stay below it, wrong ones are above.
constexpr double kSaneSource = 0.02;

// One way to compile the model: the settings that are on and, for those that act on single kernels,
// on which ones; without a choice, on all.
struct Arm {
  std::vector<bool> on;
  pipeline::KernelChoice fused, by_rules, routines;
};

class PassBisector {
 public:
  PassBisector(const Module& module, const std::map<std::string, HostTensor>& weights,
               const std::vector<int32_t>& prompt, const Platform& source, const Platform& target,
               const BisectPassesOptions& options)
      : module_(module),
        weights_(weights),
        source_(source),
        sandbox_(target, options.cancelled),
        options_(options),
        settings_(compiler_settings()) {
    run_.prompt = prompt;
    run_.cancelled = options.cancelled;
    run_.inputs = options.inputs;
    run_.texts = options.texts;
    if (!module.facts.fusion_policy.empty()) {
      throw_user("the passes have already run", "--bisect passes", "a model's folder",
                 "formed kernels", "give the model that this was compiled from");
    }
  }

  PassBisection run() {
    const double start = seconds_now();
    result_.source = source_.target.text;
    result_.target = sandbox_.target().text;
    result_.target_info = sandbox_.session().info();
    prepare_reference();
    result_.whole = check(all(true), "run with all passes");
    if (!result_.whole.passed) {
      result_.bare = check(all(false), "run with all settings off");
      if (result_.bare.passed) {
        bisect_settings();
      } else {
        bisect_program();
      }
    }
    result_.seconds = seconds_now() - start;
    return std::move(result_);
  }

 private:
  void progress(const std::string& step, int64_t done = 0, int64_t total = 0) const {
    if (options_.progress) options_.progress(step, done, total);
  }
  void check_cancelled() const {
    if (options_.cancelled && options_.cancelled()) {
      throw_platform(PlatformFault::kCancelled, "interrupted");
    }
  }

  Arm all(bool on) const { return {.on = std::vector<bool>(settings_.size(), on)}; }

  pipeline::ImplementOptions options_of(const Arm& arm) const {
    pipeline::ImplementOptions implement;
    implement.instruments.poll = [this] { check_cancelled(); };
    implement.instruments.watcher = options_.watcher;
    implement.instruments.rewrite = options_.rewrite_pass;
    implement.libraries = options_.libraries;
    implement.cache = options_.cache;
    for (size_t i = 0; i < settings_.size(); ++i) {
      if (!arm.on[i]) settings_[i].leave_out(implement);
    }
    if (arm.by_rules) implement.scheduled_by_rules = arm.by_rules;
    if (arm.routines) implement.from_libraries = arm.routines;
    return implement;
  }

  Module fixed(const Arm& arm, const pipeline::ImplementOptions& implement) const {
    Module kernels = pipeline::form_kernels(module_, implement.instruments);
    if (!arm.fused) return kernels;
    return passes::defuse_kernels(kernels,
                                  [&](const std::string& kernel) { return !arm.fused(kernel); });
  }

  std::shared_ptr<const Executable> compiled(const Arm& arm, const target::Target& target) const {
    pipeline::ImplementOptions implement = options_of(arm);
    if (&target == &sandbox_.target()) implement.rewrite = options_.rewrite;
    return pipeline::implement(fixed(arm, implement), target, implement);
  }

  // Prepares the forced tokens and the reference from the original module, and the source's own
  // error from a run with all settings off.
  void prepare_reference() {
    progress("run on " + source_.target.text);
    ModelRunner model =
        ModelRunner::under_test(*source_.session, compiled(all(false), source_.target), weights_);
    model.vm().set_interrupt(options_.interrupt);
    model.set_watcher(options_.watcher);
    interface_ = model.model();
    if (llm::Engine* engine = model.engine()) reset_engine(*engine, run_.inputs);
    llm::GenerateOptions generate;
    generate.max_tokens = options_.validation_tokens;
    generate.eos = options_.eos;
    generate.on_token = [this](int32_t) { return !options_.cancelled || !options_.cancelled(); };
    generate.not_finite_ends = true;  // every arm may contain a wrong pass
    run_.forced = unwrap(model.generate(run_, generate)).tokens;
    check_cancelled();
    const std::vector<HostTensor> own = model.outputs(run_);
    progress("evaluate the reference");
    const ReferenceLogits logits = reference_of({});
    reference_.emplace(logits, own);
    if (!(reference_->check(own).source_error <= kSaneSource * logits.largest)) {
      reference_.emplace(logits, std::vector<HostTensor>());
    }
    reference_->set_emulation(
        [this](const op::ProductRounding& products) { return reference_of(products); }, module_);
  }

  ReferenceLogits reference_of(const op::ProductRounding& products) const {
    interp::CallOptions evaluate;
    evaluate.poll = [this] { check_cancelled(); };
    evaluate.watcher = options_.watcher;
    evaluate.products = products;
    return ReferenceLogits::of(module_, interface_, weights_, run_, evaluate);
  }

  // A failure due to a wrong pass is wrong; a refusal by the platform has nothing to do with
  // passes.
  static ModelCheck failed(const Error& error) {
    if (error.kind == ErrorKind::kPlatform) throw_error(error);
    ModelCheck check;
    check.passed = false;
    check.failure = error.message;
    return check;
  }

  // A crash or hang that the sandbox contains is a failed check, and so is a compilation that fails
  // because of a wrong pass.
  ModelCheck check(const Arm& arm, const std::string& step) {
    check_cancelled();
    progress(step, result_.runs, 0);
    ++result_.runs;
    auto executable = guard([&] { return compiled(arm, sandbox_.target()); });
    if (!executable) return failed(executable.error());
    std::optional<ModelRunner> model;
    ModelCheck check = contained_check(sandbox_, *reference_, [&] {
      model = ModelRunner::under_test(sandbox_.session(), *executable, weights_);
      model->vm().set_interrupt(options_.interrupt);
      model->set_watcher(options_.watcher);
      return model->outputs(run_);
    });
    model.reset();
    if (!check.failure.empty()) sandbox_.restart();
    return check;
  }

  void bisect_settings() {
    auto arm_of = [&](const std::vector<size_t>& parts) {
      Arm arm = all(false);
      for (size_t part : parts) arm.on[part] = true;
      return arm;
    };
    const Bisection found =
        minimal_wrong_sets(settings_.size(), [&](const std::vector<size_t>& parts) {
          // All together are known to be wrong.
          if (parts.size() == settings_.size()) return true;
          return !check(arm_of(parts), "leave out").passed;
        });
    for (const std::vector<size_t>& set : found.sets) {
      SettingCulprit culprit;
      for (size_t part : set) {
        culprit.settings.push_back(settings_[part].name);
        culprit.docs.push_back(settings_[part].doc);
      }
      culprit.check = check(arm_of(set), "run with " + culprit.settings[0]);
      for (size_t part : set) add_kernels(arm_of(set), settings_[part].scope, culprit);
      result_.settings.push_back(std::move(culprit));
    }
  }

  // The kernels on which a setting of `arm` must act for the model to be wrong.
  void add_kernels(const Arm& arm, SettingScope scope, SettingCulprit& culprit) {
    if (scope == SettingScope::kModule) return;
    const Module kernels = fixed(arm, options_of(arm));
    std::vector<std::string> candidates;
    for (const auto& [name, function] : kernels.functions) {
      if (passes::is_kernel(function.get())) candidates.push_back(name);
    }
    const Bisection found =
        minimal_wrong_sets(candidates.size(), [&](const std::vector<size_t>& parts) {
          std::set<std::string> names;
          for (size_t part : parts) names.insert(candidates[part]);
          Arm some = arm;
          auto choice = [names](const std::string& kernel) { return names.contains(kernel); };
          if (scope == SettingScope::kFusion) some.fused = choice;
          if (scope == SettingScope::kRules) some.by_rules = choice;
          if (scope == SettingScope::kRoutines) some.routines = choice;
          return !check(some, "kernel by kernel").passed;
        });
    for (const std::vector<size_t>& set : found.sets) {
      for (size_t part : set) culprit.kernels.push_back(candidates[part]);
    }
  }

  // Evaluates the program after each pass that cannot be turned off; from legalize on by its loops.
  void bisect_program() {
    struct Stage {
      std::string pass;
      Module module;
      bool loops = false;
    };
    std::vector<Stage> stages{{.pass = "", .module = module_}};
    pipeline::ImplementOptions implement = options_of(all(false));
    bool lowered = false;
    implement.instruments.after = [&](const std::string& pass, const Module& module) {
      lowered = lowered || pass == "legalize";
      stages.push_back({.pass = pass, .module = module, .loops = lowered});
    };
    pipeline::form_kernels(module_, implement.instruments);
    auto evaluate = [&](const Stage& stage) {
      check_cancelled();
      progress("evaluate after " + stage.pass);
      ++result_.evaluations;
      auto logits = guard([&] {
        interp::CallOptions interpreter;
        interpreter.body = stage.loops ? interp::KernelBody::kLoops : interp::KernelBody::kSpec;
        interpreter.poll = [this] { check_cancelled(); };
        interpreter.watcher = options_.watcher;
        return evaluated_outputs(stage.module, interface_, weights_, run_, interpreter);
      });
      if (logits) return reference_->check(*logits);
      return failed(logits.error());
    };
    ModelCheck last = evaluate(stages.back());
    if (last.passed) return;
    // Finds the first wrong stage: the one before it is right.
    size_t right = 0, wrong = stages.size() - 1;
    while (wrong - right > 1) {
      const size_t middle = right + (wrong - right) / 2;
      ModelCheck between = evaluate(stages[middle]);
      if (between.passed) {
        right = middle;
      } else {
        wrong = middle;
        last = std::move(between);
      }
    }
    result_.pass = PassCulprit{.pass = stages[wrong].pass,
                               .loops = stages[wrong].loops,
                               .check = last,
                               .before = text::print(stages[right].module),
                               .after = text::print(stages[wrong].module)};
  }

  const Module& module_;
  const std::map<std::string, HostTensor>& weights_;
  const Platform& source_;
  Sandbox sandbox_;
  const BisectPassesOptions& options_;
  const std::vector<CompilerSetting>& settings_;
  ModelInterface interface_;
  ForcedRun run_;
  std::optional<ModelReference> reference_;
  PassBisection result_;
};

}  // namespace

PassBisection bisect_passes(const Module& module, const std::map<std::string, HostTensor>& weights,
                            const std::vector<int32_t>& prompt, const Platform& source,
                            const Platform& target, const BisectPassesOptions& options) {
  return PassBisector(module, weights, prompt, source, target, options).run();
}

}  // namespace tapml::topdown
