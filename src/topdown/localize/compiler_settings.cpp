#include "topdown/localize/compiler_settings.h"

namespace tapml::topdown {

namespace {

using pipeline::ImplementOptions;

std::vector<CompilerSetting> all_settings() {
  std::vector<CompilerSetting> settings;
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (!pass.without || !pass.is_common()) continue;
    settings.push_back({.name = pass.name,
                        .doc = pass.doc,
                        .scope = pass.name == std::string("fuse_ops") ? SettingScope::kFusion
                                                                      : SettingScope::kModule,
                        .leave_out = [name = std::string(pass.name)](ImplementOptions& options) {
                          options.instruments.skip.push_back(name);
                        }});
  }
  settings.push_back({.name = "libraries",
                      .doc = "library routines instead of generated code",
                      .scope = SettingScope::kRoutines,
                      .leave_out = [](ImplementOptions& options) {
                        options.from_libraries = [](const std::string&) { return false; };
                      }});
  settings.push_back({.name = "schedule_rules",
                      .doc = "schedules by rules instead of the fallback's",
                      .scope = SettingScope::kRules,
                      .leave_out = [](ImplementOptions& options) {
                        options.scheduled_by_rules = [](const std::string&) { return false; };
                      }});
  settings.push_back({.name = "prepare",
                      .doc = "weights are packed once",
                      .leave_out = [](ImplementOptions& options) { options.prepare = false; }});
  settings.push_back(
      {.name = "lift_workspaces",
       .doc = "scratch memory is planned with everything else",
       .leave_out = [](ImplementOptions& options) { options.lift_workspaces = false; }});
  settings.push_back(
      {.name = "memory_reuse",
       .doc = "tensors that are never needed together share memory",
       .leave_out = [](ImplementOptions& options) { options.memory.reuse = false; }});
  settings.push_back(
      {.name = "memory_in_place",
       .doc = "outputs reuse the memory of inputs",
       .leave_out = [](ImplementOptions& options) { options.memory.in_place = false; }});
  settings.push_back(
      {.name = "memory_offsets",
       .doc = "tensors share one storage side by side",
       .leave_out = [](ImplementOptions& options) { options.memory.offsets = false; }});
  return settings;
}

}  // namespace

const std::vector<CompilerSetting>& compiler_settings() {
  static const std::vector<CompilerSetting> kSettings = all_settings();
  return kSettings;
}

}  // namespace tapml::topdown
