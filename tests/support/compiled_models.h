// The golden models, compiled once for each platform.
#pragma once

#include <memory>
#include <string>

#include "llm/engine.h"
#include "pipeline/compile.h"
#include "support/golden_models.h"
#include "support/sessions.h"

namespace tapml::testing {

struct CompiledModel {
  GoldenModel golden;
  std::unique_ptr<runtime::Session> session;
  std::shared_ptr<const Executable> executable;

  std::unique_ptr<llm::Engine> engine(const llm::EngineOptions& options = {}) const {
    return unwrap(llm::Engine::create(*session, executable, golden.model.weights, options));
  }
};

// Null if the platform is absent.
inline const CompiledModel* compiled_model(const std::string& platform, const std::string& name) {
  static std::map<std::pair<std::string, std::string>, std::unique_ptr<CompiledModel>> cache;
  std::unique_ptr<CompiledModel>& entry = cache[{platform, name}];
  if (!entry) {
    auto session = open_session(platform);
    if (!session) return nullptr;
    entry = std::make_unique<CompiledModel>();
    entry->session = std::move(session);
    entry->golden = golden_model(name);
    entry->executable =
        pipeline::compile(entry->golden.model.module, target::parse_target(platform));
  }
  return entry.get();
}

}  // namespace tapml::testing
