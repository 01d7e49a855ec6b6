#include "app/commands/replay.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/kernel_source.h"
#include "topdown/replay/group_replay.h"
#include "topdown/runner/kernel_speed.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/kernel_names.h"

namespace tapml::app {

namespace {

// Checks the options and opens the platform before the suite is read.
PlatformUnderTest open_checked(const ReplayCommand& command, const CommandHooks& hooks) {
  if (!command.fault.empty()) topdown::parse_fault(command.fault);
  if (hooks.checked) hooks.checked();
  command.tolerance.load();
  routine_options(command.libraries, command.patterns);
  return open_under_test(command.target, command.isolation, hooks.watcher);
}

std::shared_ptr<const topdown::Suite> load(const ReplayCommand& command,
                                           const CommandHooks& hooks) {
  if (command.suite) return command.suite;
  if (hooks.phase) hooks.phase("read " + command.name, 0);
  auto suite = std::make_shared<const topdown::Suite>(
      unwrap(topdown::load_suite(command.name, command.model, hooks.watcher)));
  if (hooks.phase_end) hooks.phase_end("done");
  return suite;
}

// The kernels that `choice` selects.
std::set<std::string> chosen_names(const topdown::Suite& suite, const TestChoice& choice) {
  if (choice.kernel.empty()) return {};
  const std::vector<std::string> names = topdown::kernel_names(suite);
  const topdown::KernelQuestion asked{"--kernel", "the suite"};
  if (choice.one) return {topdown::find_kernel(names, choice.kernel, asked)};
  const std::vector<std::string> found = topdown::find_kernels(names, choice.kernel, asked);
  return {found.begin(), found.end()};
}

// The selected kernels of a module.
Module module_of(const Module& all, const std::set<std::string>& kernels) {
  if (kernels.empty()) return all;
  Module module;
  for (const std::string& name : kernels) {
    for (const auto& [own, function] : passes::kernel_alone(all, name).functions) {
      module.functions[own] = function;
    }
  }
  module.facts = all.facts;
  module.attrs = all.attrs;
  return module;
}

// UserError for a fault in a kernel that does not run: it would have no effect.
void expect_injected(const topdown::Suite& suite, const WantedTests& wanted,
                     const std::string& fault, const TestChoice& choice) {
  const std::string kernel = topdown::faulty_kernel(suite, topdown::parse_fault(fault).first);
  if (wanted.compiled.contains(kernel)) return;
  std::string known;
  for (const std::string& name : wanted.compiled) known += (known.empty() ? "" : ", ") + name;
  throw_user("the fault is for a kernel that is not run", "--inject-fault " + fault,
             "one of " + known, kernel, choice.group ? "leave --group out" : "leave --kernel out");
}

}  // namespace

SuiteReplay::SuiteReplay(const ReplayCommand& command, const CommandHooks& hooks)
    : SuiteReplay(command, hooks, open_checked(command, hooks)) {}

SuiteReplay::SuiteReplay(ReplayCommand command, CommandHooks hooks, PlatformUnderTest platform)
    : command_(std::move(command)),
      hooks_(std::move(hooks)),
      target_(platform.platform.target),
      session_(std::move(platform.session)),
      sources_(command_.kernels.empty() ? std::vector<topdown::CustomSource>()
                                        : topdown::read_custom_sources(command_.kernels, target_)),
      suite_(load(command_, hooks_)),
      reference_(*suite_),
      sandbox_(std::move(platform.platform), hooks_.cancelled),
      cache_(command_.cache) {
  reference_.set_tolerances(command_.tolerance.load());
  reference_.set_poll(hooks_.poll);
  reference_.set_watcher(hooks_.watcher);
}

void SuiteReplay::poll() const {
  if (hooks_.poll) hooks_.poll();
}

const std::string& SuiteReplay::name_of(int32_t kernel) const {
  return suite_->kernels[static_cast<size_t>(kernel)].name;
}

WantedTests SuiteReplay::wanted(const TestChoice& choice) const {
  const topdown::Suite& suite = *suite_;
  const bool chosen = !choice.kernel.empty();
  const std::set<std::string> names_chosen = chosen_names(suite, choice);
  const int64_t groups = std::ssize(suite.groups);
  if (choice.group && (*choice.group < 0 || *choice.group >= groups)) {
    throw_user("the suite has no such group", "--group",
               groups == 0 ? "a suite with groups" : "0 to " + std::to_string(groups - 1),
               std::to_string(*choice.group));
  }
  WantedTests wanted;
  std::set<std::string> parts;  // kernels in groups
  std::string part_of;
  for (int64_t g = 0; g < groups; ++g) {
    const auto names = suite.kernels_of(suite.groups[static_cast<size_t>(g)]);
    if (part_of.empty() && std::ranges::any_of(names, [&](const std::string& name) {
          return names_chosen.contains(name);
        })) {
      part_of = std::to_string(g);
    }
    if (choice.group ? *choice.group != g : chosen) continue;
    wanted.groups.push_back(static_cast<size_t>(g));
    parts.insert(names.begin(), names.end());
  }
  for (int32_t k = 0; k < static_cast<int32_t>(suite.kernels.size()); ++k) {
    const std::string& name = name_of(k);
    const bool asked = !choice.group && (!chosen || names_chosen.contains(name));
    if (asked && std::ranges::count(suite.calls, k, &topdown::SuiteCall::kernel) > 0) {
      wanted.kernels.push_back(k);
      wanted.compiled.insert(name);
    } else if (!parts.contains(name) && !names_chosen.contains(name) && (choice.group || chosen)) {
      wanted.not_selected.push_back(name);
    }
  }
  if (!choice.group) {
    wanted.untested = topdown::untested_kernels(suite);
    std::erase_if(wanted.untested, [&](const topdown::KernelUse& use) {
      return chosen && !names_chosen.contains(use.kernel);
    });
  }
  wanted.compiled.merge(parts);
  if (wanted.kernels.empty() && wanted.groups.empty()) {
    throw_user(
        chosen ? "the suite has no test of kernel " + choice.kernel : "the suite has no tests",
        command_.name, "at least one call", "none",
        part_of.empty() ? "carve a run that calls its kernels"
                        : "it is part of a group: --group " + part_of);
  }
  if (!command_.fault.empty()) expect_injected(suite, wanted, command_.fault, choice);
  return wanted;
}

void SuiteReplay::compile(const std::set<std::string>& kernels) {
  const std::string step = "compile for " + command_.target.target.text;
  if (hooks_.phase) hooks_.phase(step, 0);
  timeline_ = topdown::Timeline();
  timeline_.begin("steps", step);
  pipeline::ImplementOptions implement;
  implement.instruments.poll = hooks_.poll;
  implement.instruments.watcher = hooks_.watcher;
  implement.libraries = routine_options(command_.libraries, command_.patterns);
  implement.cache = cache_.kernels();
  implement.module_per_kernel = true;
  if (!command_.fault.empty()) {
    const auto [kernel, kind] = topdown::parse_fault(command_.fault);
    const topdown::FaultyKernel faulty =
        topdown::inject_fault(*suite_, reference_, kernel, kind, sandbox_, hooks_.cancelled);
    implement.rewrite = [faulty](const std::string& name, tir::PrimFuncRef scheduled) {
      return name == faulty.kernel ? faulty.implementation : scheduled;
    };
  }
  const topdown::CustomKernels user(sources_, reference_.module());
  const Module module = module_of(reference_.module(), kernels);
  implement.foreign = user.compile(module, target_, hooks_.cancelled);
  user.check(implement.foreign, target_, sandbox_.session());
  sandbox_.load(pipeline::implement(module, target_, implement));
  implement_ = std::move(implement);
}

topdown::Replayed SuiteReplay::run(const WantedTests& wanted, bool for_report) {
  topdown::Replayed replayed;
  replayed.suite = command_.name;
  replayed.target = command_.target.target.text;
  replayed.allowances = allowances_text(target_.description.allowances);
  replayed.untested = wanted.untested;
  replayed.not_selected = wanted.not_selected;
  replayed.incomplete = suite_->incomplete;
  // More launches than usual take proportionally longer.
  topdown::ReplayOptions launches = command_.launches;
  launches.seconds *= std::max(1.0, static_cast<double>(launches.launches) /
                                        static_cast<double>(topdown::ReplayOptions().launches));
  const auto watch = [&](const topdown::KernelEvent& event) {
    if (hooks_.watch) hooks_.watch(event);
  };
  const auto group_name = [](size_t group) { return "group " + std::to_string(group); };
  for (int32_t kernel : wanted.kernels) watch({.kernel = name_of(kernel)});
  for (size_t group : wanted.groups) watch({.kernel = group_name(group)});
  const int64_t total = std::ssize(wanted.kernels) + std::ssize(wanted.groups);
  if (hooks_.phase) hooks_.phase("replay", total);
  const auto compared = [&](const std::string& name, auto&& replay) {
    poll();
    if (hooks_.progress) hooks_.progress(name, std::ssize(replayed.verdicts), total);
    timeline_.begin("replay", name);
    watch({.kernel = name, .stage = topdown::KernelStage::kTesting});
    topdown::KernelVerdict verdict = unwrap(replay());
    watch({.kernel = name,
           .stage = topdown::KernelStage::kDone,
           .verdict = &verdict,
           .outcome = topdown::verdict_outcome(verdict),
           .good = verdict.passed});
    replayed.verdicts.push_back(std::move(verdict));
  };
  for (int32_t kernel : wanted.kernels) {
    compared(name_of(kernel), [&] {
      return topdown::replay_kernel(*suite_, reference_, kernel, sandbox_, launches);
    });
  }
  for (size_t group : wanted.groups) {
    compared(group_name(group),
             [&] { return topdown::replay_group(*suite_, reference_, group, sandbox_, launches); });
  }
  replayed.target_info = sandbox_.session().info();
  if (for_report) {
    poll();
    complete(replayed);
  }
  replayed.timeline = timeline_.take();
  replayed.seconds = timeline_.now();
  return replayed;
}

void SuiteReplay::complete(topdown::Replayed& replayed) {
  timeline_.begin("steps", "speed");
  std::vector<int32_t> right;
  for (const topdown::KernelVerdict& verdict : replayed.verdicts) {
    if (verdict.passed && !verdict.group) right.push_back(suite_->find_kernel(verdict.kernel));
  }
  replayed.speed = topdown::measure_speed(*suite_, right, sandbox_, cache_.kernels());
  timeline_.begin("steps", "code of the kernels");
  for (const topdown::KernelVerdict& verdict : replayed.verdicts) {
    if (verdict.group) continue;
    poll();
    replayed.sources[verdict.kernel] =
        topdown::kernel_source(reference_.module(), verdict.kernel, target_, implement_, sources_);
  }
}

std::vector<std::string> SuiteReplay::warnings() const {
  const std::vector<std::string> names = topdown::kernel_names(*suite_);
  return command_.tolerance.unused(reference_.tolerances(), {names.begin(), names.end()});
}

topdown::CommandOptions SuiteReplay::options_again() const {
  topdown::CommandOptions options =
      repeated_options(command_.target, command_.isolation, command_.kernels, command_.tolerance);
  options.patterns = command_.patterns.file;
  options.model = command_.model;
  options.launches = command_.launches;
  if (!command_.fault.empty()) options.faults = {command_.fault};
  return options;
}

}  // namespace tapml::app
