// tapml models: lists the architectures of models that the program reads.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/host/table.h"
#include "base/host/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "models/table.h"

namespace tapml::cli {

namespace {

int run(const Output& output) {
  const std::vector<TableColumn> columns = {{.name = "model_type"},
                                            {.name = "class"},
                                            {.name = "kind"},
                                            {.name = "description", .below = true}};
  std::vector<TableRow> rows;
  std::vector<Json> list;
  for (const models::Architecture& one : models::architecture_table()) {
    const char* kind = one.read_encoder ? "encoder" : "decoder";
    rows.push_back({one.name, one.class_name, kind, one.doc});
    list.push_back(Json::object({{"model_type", Json::string(one.name)},
                                 {"class", Json::string(one.class_name)},
                                 {"base_class", Json::string(one.base_class)},
                                 {"kind", Json::string(kind)},
                                 {"description", Json::string(one.doc)}}));
  }
  for (const std::string& line : table_lines(columns, rows, text_width(STDOUT_FILENO))) {
    output.line(line);
  }
  output.document(Json::object({{"architectures", Json::array(std::move(list))}}));
  return kDone;
}

}  // namespace

void add_models(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "models", "List the architectures of models that the program reads");
  app->footer("Example: tapml models --json");
  set_runner(*app, registration, [registration] { return run(registration.output); });
}

}  // namespace tapml::cli
