// tapml export: writes a model in the format of another program.
#include "app/commands/export.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/host/progress.h"
#include "base/strings.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "frontend/gguf/file_types.h"

namespace tapml::cli {

namespace {

std::string type_names() {
  return join(frontend::gguf_file_types(), &frontend::GgufFileType::name);
}

void print_exported(const app::ExportedFile& file, const std::string& path, const Output& output) {
  const std::string types = join(
      file.types, [](const auto& one) { return one.first + " " + std::to_string(one.second); });
  int64_t tensors = 0;
  for (const auto& [type, count] : file.types) tensors += count;
  output.line(path + ": " + size_text(file.bytes) + ", " + file.type + ", " + file.architecture);
  output.line(counted(tensors, "tensor") + ": " + types);
  if (file.fallbacks > 0) {
    output.line(counted(file.fallbacks, "tensor") +
                " of another type, because blocks of 256 do not fit the rows");
  }
  char speed[64];
  std::snprintf(speed, sizeof speed, "%.2f s, %.0f MB/s of f32", file.seconds,
                static_cast<double>(file.source_bytes) / 1e6 / std::max(file.seconds, 1e-9));
  output.line(speed);
}

Json json_of(const app::ExportedFile& file, const std::string& path) {
  Json types = Json::object();
  for (const auto& [type, count] : file.types) types.set(type, Json::integer(count));
  return Json::object({{"file", Json::string(path)},
                       {"architecture", Json::string(file.architecture)},
                       {"type", Json::string(file.type)},
                       {"tensors", std::move(types)},
                       {"fallbacks", Json::integer(file.fallbacks)},
                       {"elements", Json::integer(file.elements)},
                       {"bytes", Json::integer(file.bytes)},
                       {"seconds", Json::number(file.seconds)}});
}

int run(const app::ExportCommand& command, const Output& output) {
  Progress progress = Progress::to_stderr(output.json, Progress::kPatience);
  progress.begin("write " + command.gguf);
  const app::ExportedFile file = app::export_model(command, progress.watcher());
  progress.end();
  print_exported(file, command.gguf, output);
  output.document(json_of(file, command.gguf));
  return kDone;
}

}  // namespace

void add_export(Registration registration) {
  auto* command = registration.app.add_subcommand(
      "export", "Write a model as a GGUF file, which llama.cpp reads");
  command->footer("Example: tapml export models/demo --gguf demo.gguf --type Q4_K_M");
  auto options = std::make_shared<app::ExportCommand>();
  command->add_option("model", options->model, "Model directory or GGUF file")->required();
  command->add_option("--gguf", options->gguf, "GGUF file to write")->required();
  command->add_option(
      "--type", options->type,
      "Type of the file: " + type_names() + " (default: as the weights are stored)");
  set_runner(*command, registration, options, run);
}

}  // namespace tapml::cli
