#include "app/commands/migrate.h"

#include "app/same_platform.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/migrate/migrate.h"
#include "topdown/migrate/several_targets.h"

namespace tapml::app {

namespace {

// The targets, and the sessions that they need.
class Targets {
 public:
  // Reads the options of each target; UserError.
  explicit Targets(const MigrateCommand& command) : command_(command) {
    for (const PlatformChoice& choice : command.targets) names_.push_back(choice.target.text);
    folders_ = topdown::target_folders(names_);
    for (size_t t = 0; t < names_.size(); ++t) {
      topdown::MigrationTarget& target = targets_.emplace_back();
      target.platform.target = command.targets[t].target;
      target.fault = topdown::target_fault(command.fault, names_[t], names_);
      if (!command.kernels.empty()) {
        target.custom_sources =
            topdown::read_custom_sources(command.kernels, target.platform.target);
      }
      if (command.state.empty()) continue;
      target.state = several() ? command.state + "/" + folders_[t] : command.state;
    }
  }

  bool several() const { return names_.size() > 1; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& folders() const { return folders_; }
  const std::vector<topdown::MigrationTarget>& all() const { return targets_; }

  // Opens the targets. With several targets, skips those that cannot be opened; throws if none can.
  void open(const CommandHooks& hooks) {
    IsolationOptions isolation = command_.isolation;
    isolation.in_process |= command_.one_session;
    const Error* first = nullptr;
    size_t absent = 0;
    for (size_t t = 0; t < targets_.size(); ++t) {
      topdown::MigrationTarget& target = targets_[t];
      auto opened =
          guard([&] { return open_under_test(command_.targets[t], isolation, hooks.watcher); });
      if (opened) {
        target.platform = opened->platform;
        infos_[&target] = opened->info;
        sessions_.push_back(std::move(opened->session));
        continue;
      }
      if (!several() || opened.error().kind == ErrorKind::kUser) throw_error(opened.error());
      target.absent = opened.error();
      if (!first) first = &*target.absent;
      ++absent;
    }
    if (absent == targets_.size()) throw_error(*first);
  }
  // Warns of targets that equal the source. A fault or custom kernels make a target different.
  void warn_of_source(const OpenPlatform& source) const {
    for (const auto& [target, own] : infos_) {
      if (!target->fault.empty() || !target->custom_sources.empty()) continue;
      warn_of_same_platform("migrate", source.target, source.session->info(),
                            target->platform.target, own);
    }
  }
  void tell_opened(const CommandHooks& hooks) const {
    for (const topdown::MigrationTarget& target : targets_) {
      if (runtime::Session* session = target.platform.session) {
        hooks.opened(*session, "to " + target.platform.target.text);
      }
    }
  }

 private:
  const MigrateCommand& command_;
  std::vector<std::string> names_, folders_;
  std::vector<topdown::MigrationTarget> targets_;
  std::vector<std::unique_ptr<runtime::Session>> sessions_;      // those of this process
  std::map<const topdown::MigrationTarget*, DeviceInfo> infos_;  // of the open targets
};

// Options for the commands on a report page. `fault`: the one injected into this target.
topdown::CommandOptions options_again(const MigrateCommand& command, const PlatformChoice& target,
                                      const std::string& fault) {
  topdown::CommandOptions options =
      with_model(repeated_options(target, command.isolation, command.kernels, command.tolerance),
                 command.model, command.texts);
  options.max_tokens = command.max_tokens;
  options.sampler = command.sampler;
  if (!fault.empty()) options.faults = {fault};
  return options;
}

std::string command_line(const MigrateCommand& command, const std::vector<std::string>& targets,
                         const topdown::CommandOptions& options) {
  std::string line = topdown::model_command(
      "migrate", command.model.name, command.source.target.text, targets, command.prompt, options);
  if (command.texts.given()) return line;
  return line + " --validation-tokens " + std::to_string(command.validation_tokens);
}

topdown::ReportTexts texts_of(const MigrateCommand& command, const LoadedModel& model,
                              const std::string& shown, const PlatformChoice& platform,
                              const std::string& fault, const topdown::Migration& migration) {
  topdown::ReportTexts texts;
  texts.model = command.model.name;
  texts.prompt = shown;
  texts.source_text = model.tokenizer.decode(migration.source_tokens);
  texts.target_text = model.tokenizer.decode(migration.target_tokens);
  for (const topdown::TokenMargin& one : migration.margins) {
    texts.token_texts.push_back(model.tokenizer.decode(std::vector{one.token}));
  }
  texts.failures = true;
  texts.options = options_again(command, platform, fault);
  texts.command = command_line(command, {platform.target.text}, texts.options);
  texts.options.max_tokens = command.validation_tokens;
  return texts;
}

topdown::MigrationsTexts all_texts(const MigrateCommand& command, const LoadedModel& model,
                                   const std::string& shown, const Targets& targets,
                                   const topdown::Migrations& migrations) {
  topdown::MigrationsTexts texts;
  texts.folders = targets.folders();
  if (command.facts) {
    texts.run = topdown::run_facts(command.model.name, model.files.weights);
    texts.run.import = command.import;
  }
  texts.command = command_line(command, targets.names(),
                               options_again(command, command.targets.at(0), command.fault));
  for (size_t t = 0; t < migrations.targets.size(); ++t) {
    texts.targets.push_back(texts_of(command, model, shown, command.targets[t],
                                     targets.all()[t].fault, migrations.targets[t]));
    texts.targets.back().run = texts.run;
    if (targets.several()) texts.targets.back().above = "../report.html";
  }
  return texts;
}

std::set<std::string> kernels_of(const topdown::Migrations& migrations) {
  std::set<std::string> kernels;
  for (const topdown::Migration& migration : migrations.targets) {
    kernels.insert(migration.untried.begin(), migration.untried.end());
    for (const topdown::MigrationStep& step : migration.steps) kernels.insert(step.verdict.kernel);
  }
  return kernels;
}

}  // namespace

Migrated migrate(const MigrateCommand& command, const CommandHooks& hooks) {
  unwrap(llm::check_sampler_options(command.sampler));
  command.check(command.model.inputs);
  Targets targets(command);
  topdown::MigrateOptions options;
  options.plan = topdown::parse_plan(command.order, command.granularity, command.hybrid_every);
  if (hooks.checked) hooks.checked();
  if (!command.state.empty()) {
    unwrap(make_folder(command.state));
    unwrap(check_writable(command.state + "/state.json"));
  }
  options.tolerances = command.tolerance.load();
  options.libraries = routine_options(command.libraries, command.model.patterns);
  const OpenPlatform source = open_platform(command.source, command.cache, hooks.watcher);
  CompileCache cache(command.cache);
  targets.open(hooks);
  targets.warn_of_source(source);
  const std::shared_ptr<const LoadedModel> model = command.model.load(hooks.watcher, command.use());
  options.inputs = command.model.inputs.load(model->files.module, model->files.folder);
  RunTokens run = run_tokens(*model, command, options.inputs);
  options.texts = std::move(run.texts);
  if (hooks.opened) {
    hooks.opened(*source.session, "from " + source.target.text);
    targets.tell_opened(hooks);
  }

  options.max_tokens = command.max_tokens;
  options.validation_tokens = command.validation_tokens;
  options.sampler = command.sampler;
  options.for_report = command.for_report;
  options.stop_at_first = command.stop_at_first;
  options.eos = model->files.eos;
  options.cache = cache.kernels();
  set_hooks(options, hooks);
  options.watch = hooks.watch;
  Migrated migrated;
  migrated.migrations = topdown::migrate(model->files.module, model->files.weights, run.prompt,
                                         {source.target, source.session}, targets.all(), options);
  if (hooks.worked) hooks.worked();
  migrated.texts = all_texts(command, *model, run.shown, targets, migrated.migrations);
  migrated.warnings = command.tolerance.unused(options.tolerances, kernels_of(migrated.migrations));
  return migrated;
}

}  // namespace tapml::app
