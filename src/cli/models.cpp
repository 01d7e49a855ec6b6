// tapml models: lists the architectures of models that the program reads.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/host/table.h"
#include "base/host/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "models/table.h"
#include "models/wrappers.h"

namespace tapml::cli {

namespace {

int run(const Output& output) {
  const std::vector<TableColumn> columns = {{.name = "model_type"},
                                            {.name = "class"},
                                            {.name = "kind"},
                                            {.name = "inputs"},
                                            {.name = "description", .below = true}};
  std::vector<TableRow> rows;
  std::vector<Json> list, wrappers;
  for (const models::Architecture& one : models::architecture_table()) {
    const char* kind = one.read_encoder ? "encoder" : "decoder";
    std::vector<Json> inputs = {Json::string("text")};
    if (one.reads_sound) inputs.push_back(Json::string("sound"));
    rows.push_back(
        {one.name, one.class_name, kind, one.reads_sound ? "text, sound" : "text", one.doc});
    list.push_back(Json::object({{"model_type", Json::string(one.name)},
                                 {"class", Json::string(one.class_name)},
                                 {"base_class", Json::string(one.base_class)},
                                 {"kind", Json::string(kind)},
                                 {"inputs", Json::array(std::move(inputs))},
                                 {"description", Json::string(one.doc)}}));
  }
  for (const models::Wrapper& one : models::wrapper_table()) {
    const bool reads_images = one.read_images != nullptr;
    std::vector<Json> inputs = {Json::string("text")};
    if (reads_images) inputs.push_back(Json::string("image"));
    rows.push_back({one.name, one.class_name, "decoder", reads_images ? "text, image" : "text",
                    std::string("a language model like ") + one.text});
    wrappers.push_back(Json::object({{"model_type", Json::string(one.name)},
                                     {"class", Json::string(one.class_name)},
                                     {"text_model_type", Json::string(one.text)},
                                     {"inputs", Json::array(std::move(inputs))}}));
  }
  for (const std::string& line : table_lines(columns, rows, text_width(STDOUT_FILENO))) {
    output.line(line);
  }
  output.document(Json::object({{"architectures", Json::array(std::move(list))},
                                {"wrappers", Json::array(std::move(wrappers))}}));
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
