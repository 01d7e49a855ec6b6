#include "topdown/results/result_json.h"

#include "topdown/results/carve_fields.h"
#include "topdown/results/evaluation_fields.h"
#include "topdown/results/localization_fields.h"
#include "topdown/results/migration_fields.h"
#include "topdown/results/profile_fields.h"
#include "topdown/results/replayed_fields.h"

namespace tapml::topdown {

Json verdict_json(const KernelVerdict& verdict) { return to_json(verdict); }
Json step_json(const MigrationStep& step) { return to_json(step); }
Json layers_json(const std::vector<LayerStep>& layers) { return to_json(layers); }
Json migration_json(const Migration& migration) { return to_json(migration); }
Json localization_json(const Localization& localization) { return to_json(localization); }
Json pass_bisection_json(const PassBisection& bisection) { return to_json(bisection); }
Json replayed_json(const Replayed& replayed) { return to_json(replayed); }
Json carve_json(const CarveSummary& summary) { return to_json(summary); }
Json profiled_json(const Profiled& profiled) { return to_json(profiled); }
Json evaluation_json(const Evaluation& evaluation) { return to_json(evaluation); }
Json evaluated_json(const Evaluated& evaluated) { return to_json(evaluated); }
Json import_json(const std::optional<ImportCheck>& import) {
  return import ? to_json(*import) : Json::null();
}
Json device_json(const DeviceInfo& info) { return to_json(info); }
Json kernel_uses_json(const std::vector<KernelUse>& kernels) { return to_json(kernels); }

Json custom_kernels_json(const std::vector<const KernelVerdict*>& verdicts) {
  Json json = Json::object();
  for (const KernelVerdict* verdict : verdicts) {
    const std::string file = user_file(*verdict);
    if (!file.empty()) json.set(verdict->kernel, Json::string(file));
  }
  return json;
}

Json run_json(const RunFacts& facts, const std::string& command) {
  Json json = to_json(facts);
  json.set("command", Json::string(command));
  return json;
}

Json source_nan_json(const std::optional<SourceNaN>& nan) {
  return nan ? to_json(*nan) : Json::null();
}

Result<KernelVerdict> read_verdict(const JsonObjectReader& json) {
  return from_json<KernelVerdict>(json);
}
Result<MigrationStep> read_step(const JsonObjectReader& json) {
  return from_json<MigrationStep>(json);
}
Result<LayerStep> read_layer(const JsonObjectReader& json) { return from_json<LayerStep>(json); }
Result<Migration> read_migration(const JsonObjectReader& json) {
  return from_json<Migration>(json);
}
Result<Localization> read_localization(const JsonObjectReader& json) {
  return from_json<Localization>(json);
}
Result<PassBisection> read_pass_bisection(const JsonObjectReader& json) {
  return from_json<PassBisection>(json);
}
Result<CarveSummary> read_carve(const JsonObjectReader& json) {
  return from_json<CarveSummary>(json);
}
Result<Profiled> read_profiled(const JsonObjectReader& json) { return from_json<Profiled>(json); }
Result<Evaluated> read_evaluated(const JsonObjectReader& json) {
  return from_json<Evaluated>(json);
}
Result<Replayed> read_replayed(const JsonObjectReader& json) { return from_json<Replayed>(json); }
Result<RunFacts> read_run(const JsonObjectReader& json) { return from_json<RunFacts>(json); }

}  // namespace tapml::topdown
