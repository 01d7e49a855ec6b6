// Compilation that takes whole executables from the compile cache.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/cache.h"
#include "exec/executable.h"
#include "ir/module.h"
#include "pipeline/compile.h"
#include "target/target.h"

namespace tapml::app {

struct CompiledModule {
  std::shared_ptr<const Executable> executable;
  std::string fixed;  // text of the Module with its kernels formed
  std::vector<pipeline::OmittedFunction> omitted_functions;
  bool from_cache = false;
};

// What pipeline::compile() makes of `module` for `target` with libraries, a cache, `poll` and
// `watcher` as the only options. If the same program has compiled the same text for the same target
// and processor before, the result is that one, and no pass runs.
CompiledModule compile_with_cache(const Module& module, const target::Target& target,
                                  const pipeline::ImplementOptions& options, CompileCache& cache);

}  // namespace tapml::app
