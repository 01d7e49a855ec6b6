// What the reports' JSON says, read again.
#pragma once

#include "io/json_reader.h"
#include "topdown/migrate/migration.h"

namespace tapml::topdown {

// Each reads what the function of that name in report.h or report_parts.h writes, and gives the
// same value. UserError for anything else.
Result<Errors> read_errors(const JsonObjectReader& json);          // errors_json
Result<ModelCheck> read_check(const JsonObjectReader& json);       // check_json
Result<KernelVerdict> read_verdict(const JsonObjectReader& json);  // verdict_json
Result<MigrationStep> read_step(const JsonObjectReader& json);     // step_json
Result<LayerStep> read_layer(const JsonObjectReader& json);        // an item of layers_json

}  // namespace tapml::topdown
