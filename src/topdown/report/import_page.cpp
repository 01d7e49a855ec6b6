#include "topdown/report/import_page.h"

#include "io/host/files.h"
#include "topdown/report/command_line.h"
#include "topdown/report/html.h"
#include "topdown/report/page_shell.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/run_facts_part.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"

namespace tapml::topdown {

namespace {

// The first value that differs, by its parts.
std::string difference_part(const ImportDifference& first) {
  std::string rows;
  const auto fact = [&](const char* name, const std::string& text) {
    if (!text.empty()) rows += table_row({name, escaped(text)}, true);
  };
  fact("module", first.module);
  fact("value", first.end + (first.meaning.empty() ? "" : ", " + first.meaning));
  fact("layer", first.layer < 0 ? "" : std::to_string(first.layer));
  fact("first token outside", std::to_string(first.token));
  fact("largest difference", number(first.max_abs));
  fact("allowed", number(first.bound));
  fact("published there", number(first.published));
  fact("imported there", number(first.found));
  fact("equals the output of", first.equals);
  return table({"", ""}, rows);
}

std::string lines(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += element("p", escaped(text));
  return result;
}

}  // namespace

ImportReport refused_import(const ImportCheck& import, const std::string& command,
                            const std::string& model, const std::string& prompt,
                            const std::string& python) {
  return {.command = command,
          .model = model,
          .line = verdict_line(import),
          .command_line = check_import_command(
              {.model = model, .config = "", .prompt = prompt, .python = python, .tokens = {}})};
}

std::string import_html(const ImportCheck& import, const ImportReport& report,
                        const RunFacts& run) {
  Sections sections;
  if (import.first) {
    sections.add("failures", "What is wrong",
                 lines(difference_texts(import)) + difference_part(*import.first));
  }
  std::string missing;
  for (const std::string& weight : import.missing) missing += escaped(weight) + "\n";
  if (!missing.empty()) {
    sections.add("missing", "Weights that the model directory lacks", element("pre", missing));
  }
  return page_shell({.command = report.command,
                     .title = report.model,
                     .line = report.line,
                     .verdict = "The import " + import_text(import) + ".",
                     .counts = "",
                     .facts = run_facts_part(run, {}, report.command_line)},
                    sections);
}

Status write_import_report(const ImportCheck& import, const ImportReport& report,
                           const std::string& folder) {
  RunFacts run = run_facts(report.model);
  run.import = import;
  TAPML_TRY(write_text_atomic(folder + "/report.html", import_html(import, report, run)));
  const Json json = Json::object({{"import", import_json(import)},
                                  {"passed", Json::boolean(import.passed())},
                                  {"verdict", Json::string(verdict_word(report.line.verdict))},
                                  {"run", run_json(run, report.command_line)}});
  return write_text_atomic(folder + "/report.json", json.dump(1) + "\n");
}

}  // namespace tapml::topdown
