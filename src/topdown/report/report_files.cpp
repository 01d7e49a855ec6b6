#include "topdown/report/report_files.h"

#include "io/host/files.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/side_by_side.h"
#include "topdown/results/json_archive.h"

namespace tapml::topdown {

namespace {

Status write_pages(const std::string& folder, const std::string& page, const Json& json) {
  TAPML_TRY(write_text_atomic(folder + "/report.html", page));
  return write_text_atomic(folder + "/report.json", json.dump(1) + "\n");
}

}  // namespace

Json migrations_json(const Migrations& migrations, const MigrationsTexts& texts) {
  std::vector<Json> targets, kernels;
  for (size_t t = 0; t < migrations.targets.size(); ++t) {
    targets.push_back(migration_json(migrations.targets[t], texts.targets[t]));
  }
  for (const KernelRow& row : kernel_rows(migrations)) {
    std::vector<std::pair<std::string, Json>> outcomes;
    for (size_t t = 0; t < row.cells.size(); ++t) {
      outcomes.emplace_back(migrations.targets[t].target, Json::string(row.cells[t].outcome));
    }
    kernels.push_back(Json::object(
        {{"kernel", Json::string(row.kernel)}, {"outcomes", Json::object(std::move(outcomes))}}));
  }
  const Migration& first = migrations.targets.at(0);
  return Json::object({{"source", Json::string(first.source)},
                       {"source_device", device_json(first.source_info)},
                       {"passed", Json::boolean(migrations.passed())},
                       {"verdict", Json::string(verdict_word(migrations.verdict()))},
                       {"kernels", Json::array(std::move(kernels))},
                       {"targets", Json::array(std::move(targets))},
                       {"run", run_json(texts.run, texts.command)},
                       {"seconds", real(migrations.seconds)}});
}

Status write_report(const Migration& migration, const ReportTexts& texts, const Json& json,
                    const std::string& folder) {
  TAPML_TRY(write_failures(migration, folder));
  return write_pages(folder, migration_html(migration, texts), json);
}

Status write_report(const Migrations& migrations, const MigrationsTexts& texts,
                    const std::string& folder) {
  for (size_t t = 0; t < migrations.targets.size(); ++t) {
    const std::string own = folder + "/" + texts.folders[t];
    TAPML_TRY(make_folder(own));
    TAPML_TRY(write_report(migrations.targets[t], texts.targets[t],
                           migration_json(migrations.targets[t], texts.targets[t]), own));
  }
  return write_pages(folder, migrations_html(migrations, texts),
                     migrations_json(migrations, texts));
}

}  // namespace tapml::topdown
