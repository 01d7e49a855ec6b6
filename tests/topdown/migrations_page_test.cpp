// The page and the table of a migration to several targets.
#include <gtest/gtest.h>

#include <set>

#include "support/well_formed.h"
#include "topdown/report/report.h"
#include "topdown/report/report_files.h"
#include "topdown/report/side_by_side.h"
#include "topdown/wrong_migration.h"

namespace tapml::topdown {
namespace {

using testing::markup_fault;

// Every file that links of a page lead to, without fragments.
std::set<std::string> linked_files(const std::string& page) {
  std::set<std::string> files;
  for (size_t at = 0; (at = page.find("href=\"", at)) != std::string::npos; ++at) {
    const std::string link = page.substr(at + 6, page.find('"', at + 6) - at - 6);
    if (!link.starts_with("#")) files.insert(link.substr(0, link.find('#')));
  }
  return files;
}

// One target that passes, one that is wrong, one that was lost.
Migrations three_targets() {
  Migrations migrations;
  migrations.targets.resize(3, wrong_migration());
  Migration& right = migrations.targets[0];
  right.target = "vulkan";
  right.steps = {step_for(verdict_in_two_layers("own_2", 0.5, 0.5)),
                 step_for(verdict_in_two_layers("differs_3", 0.5, 0.5))};
  right.untried.clear();
  right.untried_calls.clear();
  right.failed.clear();
  right.target_ran = true;
  Migration& lost = migrations.targets[2];
  lost.target = "cpu@unix:/x/<y>";
  lost.steps = {step_for(verdict_in_two_layers("own_2", 0.5, 0.5))};
  lost.untried = {"differs_3"};
  lost.failed.clear();
  lost.error = platform_error(PlatformFault::kLost, "the way is gone " + kNasty);
  migrations.seconds = 2.5;
  return migrations;
}

MigrationsTexts nasty_migrations_texts() {
  return {{nasty_texts(), nasty_texts(), nasty_texts()},
          {"vulkan", "opencl", "cpu-unix-x-y-"},
          "tapml migrate --to vulkan"};
}

TEST(MigrationsPage, LinksToThePagesOfTheTargets) {
  const Migrations migrations = three_targets();
  const MigrationsTexts texts = nasty_migrations_texts();
  const std::string page = migrations_html(migrations, texts);
  EXPECT_EQ(markup_fault(page), "");
  for (const char* fetch : {"<script", "http://", "https://", " src=", "<link", "url("}) {
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
  }
  for (const char* part :
       {"1 of 3 targets run the whole model; 1 was ended by an error.", "cpu@unix:/x/&lt;y&gt;",
        "4 kernels, 2 not the same on all targets", "Took 2.50 s", "the way is gone",
        "Ended by an error, with 1 kernel tried", "1 of 2", "same text",
        "prefers-color-scheme:dark", "opencl/report.html#failure-1\">crash",
        "vulkan/report.html#kernel-2\">migrated",
        "cpu-unix-x-y-/report.html#kernel-2\">not tried"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(linked_files(page), (std::set<std::string>{"vulkan/report.html", "opencl/report.html",
                                                       "cpu-unix-x-y-/report.html"}));
  // Each of those pages has the anchors of the linked kernels, and a link back.
  for (size_t t = 0; t < 3; ++t) {
    ReportTexts own = texts.targets[t];
    own.above = "../report.html";
    const std::string other = migration_html(migrations.targets[t], own);
    EXPECT_EQ(markup_fault(other), "");
    EXPECT_EQ(linked_files(other), std::set<std::string>{"../report.html"});
    for (size_t at = 0;
         (at = page.find(texts.folders[t] + "/report.html#", at)) != std::string::npos; ++at) {
      const size_t begin = page.find('#', at) + 1;
      const std::string anchor = page.substr(begin, page.find('"', begin) - begin);
      EXPECT_NE(other.find("id=\"" + anchor + "\""), std::string::npos) << anchor;
    }
  }
  EXPECT_EQ(linked_files(migration_html(migrations.targets[0], texts.targets[0])),
            std::set<std::string>{});
}

TEST(SideBySide, OneRowForEachKernelAndTheWholeModel) {
  const Migrations migrations = three_targets();
  const std::vector<std::string> wide = {
      "kernel       in       vulkan     opencl     cpu@unix:/x/<y>  layers",
      "own_2        prefill  migrated   migrated   migrated         layers.{0,1}.mlp",
      "differs_3    prefill  migrated   mismatch   not tried        layers.{0,1}.mlp",
      "crash_1      prefill             crash                       layers.{0,1}.mlp",
      "untried_4                        not tried",
      "whole model           same text  not run    lost"};
  EXPECT_EQ(side_by_side(migrations, 120, false), wide);
  const std::vector<std::string> narrow = side_by_side(migrations, 70, false);
  EXPECT_EQ(narrow[0], "kernel       in       vulkan     opencl     cpu@unix:/x/<y>");
  EXPECT_EQ(narrow[1], "    layers");
  EXPECT_EQ(narrow[3], "    layers.{0,1}.mlp");
  const Json json = migrations_json(migrations, nasty_migrations_texts());
  EXPECT_EQ(json.find("targets")->items().size(), 3u);
  EXPECT_EQ(json.find("targets")->items()[0].find("error"), nullptr);
  EXPECT_EQ(json.find("targets")->items()[2].find("error")->find("kind")->as_string(),
            "platform: lost");
  const Json& row = json.find("kernels")->items()[1];
  EXPECT_EQ(row.find("kernel")->as_string(), "differs_3");
  EXPECT_EQ(row.find("outcomes")->find("opencl")->as_string(), "mismatch");
  EXPECT_EQ(json.find("passed")->as_bool(), false);
}

}  // namespace
}  // namespace tapml::topdown
