// The report of an import that differs.
#include "topdown/report/import_page.h"

#include <gtest/gtest.h>

#include "io/json.h"
#include "ir/exceptions.h"
#include "support/temp_folder.h"
#include "support/well_formed.h"
#include "topdown/report/command_line.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/wrong_migration.h"

namespace tapml::topdown {
namespace {

ImportCheck differing() {
  ImportCheck import;
  import.implementation = "transformers 5.toy " + kNasty;
  import.model_class = "LlamaForCausalLM";
  import.dtype = "f64";
  import.tokens = 16;
  import.first = ImportDifference{.module = "model.layers.3.self_attn.k_proj",
                                  .end = "output",
                                  .meaning = "before the rotation",
                                  .layer = 3,
                                  .max_abs = 0.5,
                                  .bound = 1e-9,
                                  .token = 2,
                                  .published = 1.5,
                                  .found = 1,
                                  .equals = "model.layers.3.self_attn.v_proj"};
  import.missing = {"lm_head.weight" + kNasty};
  return import;
}

ImportReport report_of(const ImportCheck& import) {
  return {.command = "migrate",
          .model = "models/" + kNasty,
          .line = verdict_line(import),
          .command_line = check_import_command(
              {.model = "models/a b", .config = "", .prompt = "it's", .python = "", .tokens = {}})};
}

TEST(ImportPage, NamesTheFirstDifference) {
  testing::TempFolder folder;
  const ImportCheck import = differing();
  unwrap(write_import_report(import, report_of(import), folder.path()));
  const std::string page = testing::read_bytes(folder / "report.html");
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_EQ(page.find("<script"), std::string::npos);
  for (const char* part :
       {"FAIL", "the import differs first in model.layers.3.self_attn.k_proj",
        "nothing else was tested", "output, before the rotation", "model.layers.3.self_attn.v_proj",
        "lm_head.weight", "5.00e-01", "tapml check-import 'models/a b' --prompt 'it'\\''s'"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  const Json json = unwrap(parse_json(testing::read_bytes(folder / "report.json"), "report.json"));
  EXPECT_FALSE(json.find("passed")->as_bool());
  EXPECT_EQ(json.find("verdict")->as_string(), "FAIL");
  EXPECT_EQ(json.find("import")->find("first")->find("layer")->as_integer(), 3);
  EXPECT_EQ(json.find("run")->find("import")->find("tokens")->as_integer(), 16);
}

TEST(ImportPage, OfAnImportThatAgrees) {
  ImportCheck import = differing();
  import.first.reset();
  import.missing.clear();
  ImportReport report = report_of(import);
  report.command = "check-import";
  report.line = import_verdict_line(import);
  const std::string page = import_html(import, report, run_facts("m"));
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_NE(page.find("PASS"), std::string::npos);
  EXPECT_EQ(page.find("What is wrong"), std::string::npos);
}

TEST(ImportPage, TheCommandOfAConfiguration) {
  EXPECT_EQ(check_import_command({.model = "",
                                  .config = "a/config.json",
                                  .prompt = "",
                                  .python = "venv/bin/python",
                                  .tokens = {5, 17},
                                  .seed = 3}),
            "tapml check-import --config 'a/config.json' --seed 3 --tokens '5,17' --python "
            "'venv/bin/python'");
}

}  // namespace
}  // namespace tapml::topdown
