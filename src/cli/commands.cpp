// The subcommands of the full program; cli/runtime/ has those of the program without the compiler.
#include "cli/check.h"
#include "cli/command.h"
#include "cli/measure.h"

namespace tapml::cli {

void add_commands(Registration registration) {
  add_run(registration);
  add_chat(registration);
  add_serve(registration);
  add_web(registration);
  add_embed(registration);
  add_compile(registration);
  add_export(registration);
  add_opt(registration);
  add_exec(registration);
  add_check_import(registration);
  add_carve(registration);
  add_replay(registration);
  add_suite(registration);
  add_migrate(registration);
  add_localize(registration);
  add_eval(registration);
  add_compare(registration);
  add_profile(registration);
  add_devices(registration,
              {.measure = measure_ceilings, .check = check_device, .conclude = conclude_checks});
  add_models(registration);
  add_rpc(registration, add_tracker);
  add_kernel(registration);
  add_kernel_worker(registration);
  add_fuzz(registration);
  add_fuzz_worker(registration);
  add_cache(registration);
  add_help(registration);
  add_completion(registration);
}

}  // namespace tapml::cli
