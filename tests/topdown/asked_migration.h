// Migrations of the small model, and their results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/sessions.h"
#include "topdown/migrate/migrate.h"
#include "topdown/report/report.h"
#include "topdown/results/result_json.h"
#include "topdown/small_model.h"

namespace tapml::topdown {

// The options of a migration, including those of its only target.
struct Asked : MigrateOptions {
  std::vector<CustomSource> custom_sources;
  std::string fault, state;

  MigrationTarget target(runtime::Session& session) const {
    return {{target::parse_target("cpu"), &session, {}}, custom_sources, fault, state};
  }
};

inline Migration migrated(Asked options, std::unique_ptr<runtime::Session> to,
                          const std::vector<int32_t>& prompt = kPrompt) {
  if (!options.cache) options.cache = &kernel_cache();
  auto from = testing::open_session("cpu");
  const Platform source{target::parse_target("cpu"), from.get(), {}};
  return migrate(small_model().golden.model.module, small_model().golden.model.weights, prompt,
                 source, options.target(*to), options);
}

inline Migration migrated(const Asked& options) {
  return migrated(options, testing::open_session("cpu"));
}

inline Asked short_run() {
  Asked options;
  options.max_tokens = 3;
  options.validation_tokens = 2;
  return options;
}

// The result of a short run.
inline const Migration& ordinary_migration() {
  static const Migration migration = migrated(short_run());
  return migration;
}

inline std::vector<std::string> kernels_of(const Migration& migration) {
  std::vector<std::string> names;
  for (const MigrationStep& step : migration.steps) names.push_back(step.verdict.kernel);
  return names;
}

// The parts of a migration that are the same in every run: everything except times and copies.
inline std::string result_of(const Migration& migration) {
  std::string text;
  for (MigrationStep step : migration.steps) {
    step.verdict.seconds = 0;
    if (step.verdict.launches.cut) step.verdict.note.clear();  // depends on the available time
    step.verdict.launches = {};
    step.copies = {};  // tensors that an earlier run left on the target are not copied
    text += step_json(step).dump() + "\n";
  }
  Migration rest = migration;
  rest.steps.clear();
  rest.seconds = 0;
  rest.timeline.clear();
  rest.resumed = 0;
  return text + migration_json(rest).dump();
}

}  // namespace tapml::topdown
