// Results as JSON, for reports, --json and the state of a migration, and reading them again.
#pragma once

#include <optional>
#include <vector>

#include "io/json_reader.h"
#include "topdown/profile/profile.h"
#include "topdown/reference_run/import_check.h"
#include "topdown/results/carve_summary.h"
#include "topdown/results/evaluation.h"
#include "topdown/results/localization.h"
#include "topdown/results/migration.h"
#include "topdown/results/pass_bisection.h"
#include "topdown/results/replayed.h"

namespace tapml::topdown {

Json verdict_json(const KernelVerdict& verdict);
Json step_json(const MigrationStep& step);
Json layers_json(const std::vector<LayerStep>& layers);
Json migration_json(const Migration& migration);
Json localization_json(const Localization& localization);
Json pass_bisection_json(const PassBisection& bisection);
Json replayed_json(const Replayed& replayed);
Json carve_json(const CarveSummary& summary);
Json profiled_json(const Profiled& profiled);
Json evaluation_json(const Evaluation& evaluation);  // an item of "targets" of the next one
Json evaluated_json(const Evaluated& evaluated);
// An object with the file of each custom kernel.
Json custom_kernels_json(const std::vector<const KernelVerdict*>& verdicts);
// "run" of report.json.
Json run_json(const RunFacts& facts, const std::string& command);
// "import" of the commands' documents (docs/cli.md, localize); null if there was no comparison.
Json import_json(const std::optional<ImportCheck>& import);
Json device_json(const DeviceInfo& info);
// A list of objects with "kernel" and "layers".
Json kernel_uses_json(const std::vector<KernelUse>& kernels);
// `nan` of the commands' documents (docs/cli.md, carve); null if there is none.
Json source_nan_json(const std::optional<SourceNaN>& nan);

// Each reads what the function of that name writes. Writing the result again gives the same JSON.
// UserError for anything else. Fields that the JSON lacks (carved calls, programs) keep their
// initial values.
Result<KernelVerdict> read_verdict(const JsonObjectReader& json);
Result<MigrationStep> read_step(const JsonObjectReader& json);
Result<LayerStep> read_layer(const JsonObjectReader& json);  // an item of layers_json
Result<Migration> read_migration(const JsonObjectReader& json);
Result<Localization> read_localization(const JsonObjectReader& json);
Result<PassBisection> read_pass_bisection(const JsonObjectReader& json);
Result<Replayed> read_replayed(const JsonObjectReader& json);
Result<CarveSummary> read_carve(const JsonObjectReader& json);
Result<Profiled> read_profiled(const JsonObjectReader& json);
Result<Evaluated> read_evaluated(const JsonObjectReader& json);
Result<RunFacts> read_run(const JsonObjectReader& json);  // without the command

}  // namespace tapml::topdown
