// tapml fuzz triage, report: what a campaign found, and what of it is left.
#include "cli/fuzz_triage.h"

#include <CLI/CLI.hpp>
#include <set>
#include <utility>

#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/strings.h"
#include "base/units.h"
#include "cli/fuzz_page.h"
#include "fuzz/campaign/state.h"
#include "fuzz/campaign/triage.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

struct TriageCommand {
  std::string folder;
  double seconds = 20;
};

Json triage_json(const std::vector<fuzz::Triaged>& findings) {
  std::vector<Json> list;
  for (const fuzz::Triaged& one : findings) list.push_back(one.json());
  return Json::object({{"findings", Json::array(std::move(list))}});
}

std::string heading(const fuzz::Triaged& one) {
  std::string text = std::string(fuzz::standing_name(one.standing)) + ": " + one.kind;
  if (!one.pass.empty()) text += " in " + one.pass;
  text += ", " + counted(one.count, "program") + ", " + counted(one.operators, "call");
  if (!one.called.empty()) text += " (" + join(one.called) + ")";
  return text + ": " + one.folder;
}

int triage(const TriageCommand& command, const Output& output) {
  install_interrupt_handler();
  Progress progress = Progress::to_stderr(output.json, Progress::kPatience);
  bool begun = false;
  const std::vector<fuzz::Triaged> findings =
      fuzz::triage({.folder = command.folder,
                    .command = {"/proc/self/exe", "fuzz-worker"},
                    .seconds = command.seconds,
                    .progress = [&](int64_t done, int64_t all) {
                      unwrap(check_interrupted());
                      if (!std::exchange(begun, true)) progress.begin("triage", all);
                      progress.step("finding " + std::to_string(done + 1));
                    }});
  progress.end();
  int64_t open = 0, fixed = 0, duplicates = 0;
  std::set<std::string> causes;
  for (const fuzz::Triaged& one : findings) {
    output.line(heading(one));
    if (!one.message.empty()) output.line("  " + one.message.substr(0, one.message.find('\n')));
    if (!one.duplicates.empty()) output.line("  the same: " + join(one.duplicates));
    duplicates += std::ssize(one.duplicates);
    const bool is_fixed = one.standing == fuzz::Standing::kFixed;
    (is_fixed ? fixed : open) += 1;
    if (!is_fixed) causes.insert(one.cause);
  }
  const Json document = triage_json(findings);
  unwrap(write_text_atomic(command.folder + "/" + kTriageFile, document.dump(2) + "\n"));
  output.document(document);
  output.last_line((open == 0 ? "PASS: " : "FAIL: ") + counted(open, "finding") + " of " +
                   counted(std::ssize(causes), "cause") + ", " + std::to_string(fixed) +
                   " fixed, " + counted(duplicates, "duplicate"));
  return open == 0 ? kDone : kDifference;
}

int report(const TriageCommand& command, const Output& output) {
  const fuzz::CampaignState state = fuzz::read_state(command.folder);
  const std::string file = command.folder + "/" + kTriageFile;
  const Result<std::string> text = read_text_file(file);
  const Json triaged = text ? unwrap(parse_json(*text, file)) : Json::null();
  const std::string page = command.folder + "/report.html";
  unwrap(write_text_atomic(page, campaign_page(command.folder, state, triaged)));
  output.line("report: " + page);
  output.document(Json::object({{"report", Json::string(page)}}));
  return kDone;
}

}  // namespace

void add_fuzz_triage(CLI::App& fuzz, const Registration& registration) {
  auto* again = fuzz.add_subcommand(
      "triage", "Check saved findings on this build: what is fixed, what is the same");
  again->footer("Example: tapml fuzz triage fuzz-7");
  auto options = std::make_shared<TriageCommand>();
  again->add_option("folder", options->folder, "Folder of a campaign, or of findings")->required();
  again->add_option("--seconds", options->seconds, "Longest time of one program")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  set_runner(*again, registration, options, triage);
  auto* page = fuzz.add_subcommand("report", "Write a page about a campaign and its findings");
  page->footer("Example: tapml fuzz report fuzz-7");
  auto of_page = std::make_shared<TriageCommand>();
  page->add_option("folder", of_page->folder, "Folder of a campaign")->required();
  set_runner(*page, registration, of_page, report);
}

}  // namespace tapml::cli
