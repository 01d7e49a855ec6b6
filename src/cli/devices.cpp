// tapml devices: lists every platform, available or not.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "app/platforms.h"
#include "base/host/progress.h"
#include "base/host/table.h"
#include "base/host/terminal.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"

namespace tapml::cli {

namespace {

// Names of devices whose driver runs on the processor.
constexpr const char* kEmulators[] = {"llvmpipe", "pthread",     "cpu-",
                                      "basic",    "swiftshader", "oclgrind"};

// The role of each platform, independent of this computer: docs/platforms.md's table.
struct PlatformRow {
  std::string platform, compiles, runs, emulated, conformance;
};

// A GPU platform whose driver runs on the processor, or an emulated processor.
bool is_emulated(const PlatformStatus& status, const target::Description& description) {
  std::string name = status.info.name;
  if (!description.gpu_like) return name.starts_with("emulated");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(std::begin(kEmulators), std::end(kEmulators), [&](const char* emulator) {
    return name.find(emulator) != std::string::npos;
  });
}

std::string markdown(const std::vector<PlatformRow>& rows) {
  std::string text =
      "| platform | compiles to | runs | emulated | conformance |\n| --- | --- | --- | --- | --- "
      "|\n";
  for (const PlatformRow& row : rows) {
    text += "| " + row.platform + " | " + row.compiles + " | " + row.runs + " | " + row.emulated +
            " | " + row.conformance + " |\n";
  }
  return text;
}

std::string conformance_of(const Json& json) {
  const auto& checks = json.find("checks")->items();
  const auto failed = std::count_if(checks.begin(), checks.end(), [](const Json& check) {
    return !check.find("passed")->as_bool();
  });
  const std::string all = std::to_string(checks.size());
  return failed == 0 ? "all " + all + " checks passed"
                     : std::to_string(failed) + " of " + all + " checks failed";
}

// Adds blanks after commas, so that lines can break there.
std::string spaced(const std::string& list) {
  std::string text;
  for (const char c : list) text += c == ',' ? ", " : std::string(1, c);
  return text;
}

struct Choices {
  bool measured = false, checked = false, table = false;
  std::vector<std::string> targets;  // empty: the platforms of this computer
  RemoteOptions remote;
};

const char* place_of(const PlatformStatus& status, const target::Target& target) {
  return !status.available ? "unavailable" : target.endpoint.empty() ? "available" : "remote";
}

std::vector<PlatformStatus> statuses(const Choices& choices) {
  if (choices.targets.empty()) return list_platforms();
  std::vector<PlatformStatus> list;
  for (const std::string& target : choices.targets) {
    list.push_back(status_of(target, choices.remote));
  }
  return list;
}

int run(const Output& given, const Choices& choices, const DeviceWork& work) {
  std::vector<Json> list;
  std::vector<PlatformRow> rows;
  int64_t passed = 0, checks = 0, checked = 0;
  // Only the table goes to stdout.
  Output output = given;
  output.json |= choices.table;
  // Each check prints its line: a redrawn line on a terminal would interfere with them.
  Progress progress = Progress::to_stderr(
      output.json || (is_terminal(STDOUT_FILENO) && terminal_moves_cursor(STDERR_FILENO)),
      Progress::kPatience);
  for (const PlatformStatus& status : statuses(choices)) {
    target::Target target = target::parse_target(status.platform);
    PlatformRow row{status.platform, target.description.compiles_to, "unavailable", "", "not run"};
    auto say = [&](const std::string& line) {
      output.line(wrapped(line, text_width(STDOUT_FILENO), 4));
    };
    say(status.platform + ": " + place_of(status, target) + " - " + status.doc);
    Json json = platform_json(status);
    if (status.available) {
      const DeviceInfo& info = status.info;
      say("  device: " + info.name + (info.version.empty() ? "" : ", " + info.version));
      if (!info.cpu.empty()) {
        say("  processor: " + info.cpu +
            (info.cpu_features.empty() ? "" : " with " + spaced(info.cpu_features)));
      }
      say("  limits: " + std::to_string(info.limits.threads) + " threads, work group " +
          std::to_string(info.limits.max_workgroup_threads) + ", local memory " +
          size_text(info.limits.max_local_memory) + ", allocation " +
          size_text(info.limits.max_allocation_bytes) +
          (info.limits.subgroup_width > 0
               ? ", subgroups of " + std::to_string(info.limits.subgroup_width)
               : ""));
      say("  computes: " + dtype_list(info.features.compute_dtypes));
      say("  stores: " + dtype_list(info.features.storage_dtypes));
      // A device that runs nothing has no speed.
      const bool runs = target.description.computes;
      std::unique_ptr<runtime::Session> session;
      if (choices.measured || choices.checked) {
        session = open_session(target, {}, {}, choices.remote);
      }
      if (choices.measured && runs) {
        progress.begin("measure " + status.platform);
        work.measure(*session, target, output, json);
        progress.end();
      }
      row.runs = info.name;
      row.emulated = !runs                                     ? "computes nothing"
                     : is_emulated(status, target.description) ? "yes, on the processor"
                                                               : "no";
      if (choices.checked) {
        progress.begin("check " + status.platform);
        work.check(*session, target, output, json);
        progress.end();
        row.conformance = conformance_of(json);
        const auto& done = json.find("checks")->items();
        checks += std::ssize(done);
        passed += std::ranges::count_if(
            done, [](const Json& check) { return check.find("passed")->as_bool(); });
        ++checked;
      }
    } else {
      say("  why: " + status.reason);
    }
    list.push_back(std::move(json));
    rows.push_back(std::move(row));
  }
  if (choices.table) given.text(markdown(rows));
  given.document(Json::object({{"platforms", Json::array(std::move(list))}}));
  return choices.checked ? work.conclude(passed, checks, checked, output) : kDone;
}

}  // namespace

void add_devices(Registration registration, const DeviceWork& work) {
  auto* command =
      registration.app.add_subcommand("devices", "List the platforms, available or not");
  command->footer("Example: tapml devices --json");
  add_json(*command, registration.output);
  auto choices = std::make_shared<Choices>();
  command
      ->add_option("--target", choices->targets,
                   "Device to list instead, local or remote (repeatable)")
      ->allow_extra_args(false);
  add_options(*command, choices->remote);
  if (work.measure) {
    command->add_flag("--measure", choices->measured,
                      "Measure the operations and bytes per second that each platform reaches");
  }
  if (work.check) {
    command->add_flag("--check", choices->checked, "Check that each platform does what it claims");
    command->add_flag("--markdown", choices->table,
                      "Check the platforms and print them as a Markdown table");
  }
  command->callback([registration, choices, work] {
    choices->checked |= choices->table;
    registration.selected = [registration, choices, work] {
      return run(registration.output, *choices, work);
    };
  });
}

}  // namespace tapml::cli
