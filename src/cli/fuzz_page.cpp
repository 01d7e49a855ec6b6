#include "cli/fuzz_page.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/strings.h"
#include "base/units.h"
#include "fuzz/generate/coverage.h"
#include "fuzz/generate/generate.h"
#include "io/host/files.h"
#include "topdown/report/html.h"
#include "topdown/report/page_shell.h"
#include "topdown/report/svg.h"

namespace tapml::cli {

namespace {

using topdown::element;
using topdown::escaped;
using topdown::table;
using topdown::table_row;

constexpr double kLeft = 64, kRight = 12, kTop = 16, kWidth = 960, kHeight = 220, kBottom = 28;

std::string percent(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", whole == 0 ? 0 : 100.0 * part / whole);
  return text;
}

std::string rate(double number, double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", seconds > 0 ? number / seconds : 0);
  return text;
}

std::string rows_of(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string rows;
  for (const auto& [name, value] : facts) {
    rows += table_row({escaped(name), escaped(value)}, true);
  }
  return rows;
}

std::string rates(const fuzz::CampaignState& state) {
  const auto of_tests = [&](int64_t part) {
    return std::to_string(part) + " (" + percent(part, state.tests) + ")";
  };
  return table({"What", "Programs"},
               rows_of({{"tests", std::to_string(state.tests)},
                        {"seconds", rate(state.seconds, 1)},
                        {"tests a second", rate(static_cast<double>(state.tests), state.seconds)},
                        {"valid", of_tests(state.valid)},
                        {"with finite results", of_tests(state.finite)},
                        {"refused by design", of_tests(state.refused)},
                        {"compiled", of_tests(state.native)},
                        {"mutated", of_tests(state.mutants)},
                        {"in another way", of_tests(state.variants)},
                        {"with the language", of_tests(state.language)},
                        {"elements compared", std::to_string(state.elements)},
                        {"without a bound", percent(state.open_elements, state.elements)}}));
}

std::string curve(const fuzz::CampaignState& state) {
  if (state.curve.empty()) return "";
  const double tests = static_cast<double>(std::max<int64_t>(1, state.curve.back().first));
  const double keys = static_cast<double>(std::max<int64_t>(1, state.curve.back().second));
  const auto x = [&](int64_t at) {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(at) / tests;
  };
  const auto y = [&](int64_t covered) {
    return kTop + kHeight * (1 - static_cast<double>(covered) / keys);
  };
  std::string drawing =
      topdown::svg_line(kLeft, kTop + kHeight, kWidth - kRight, kTop + kHeight, "axis") +
      topdown::svg_line(kLeft, kTop, kLeft, kTop + kHeight, "axis") +
      topdown::svg_text(kLeft - 6, kTop + 10, std::to_string(state.curve.back().second), "small",
                        "end") +
      topdown::svg_text(kWidth - kRight, kTop + kHeight + 18,
                        counted(state.curve.back().first, "test"), "small", "end");
  std::pair<int64_t, int64_t> before = {0, 0};
  for (const auto& moment : state.curve) {
    drawing += topdown::svg_line(x(before.first), y(before.second), x(moment.first),
                                 y(moment.second), "limit");
    before = moment;
  }
  std::vector<std::pair<std::string, std::string>> sizes;
  const char* kNames[] = {"operator and dtype", "operator and shape", "producer and operator",
                          "broken rule"};
  for (int i = 0; i < fuzz::kCriteria; ++i) {
    const int64_t size = state.coverage.size(static_cast<fuzz::Criterion>(i));
    if (size > 0) sizes.emplace_back(kNames[i], std::to_string(size));
  }
  return topdown::svg(kWidth, kTop + kHeight + kBottom, 480, "Covered keys over tests", drawing) +
         table({"Criterion", "Keys"}, rows_of(sizes));
}

// What triage says about a finding's folder; findings may have moved with their campaign.
std::string standing_of(const std::string& folder, const Json& triaged) {
  const auto name_of = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  const Json* findings = triaged.is_object() ? triaged.find("findings") : nullptr;
  if (!findings || !findings->is_array()) return "not checked again";
  for (const Json& one : findings->items()) {
    const Json* path = one.find("folder");
    const Json* standing = one.find("standing");
    if (!path || !standing) continue;
    if (name_of(path->as_string()) == name_of(folder)) return standing->as_string();
    const Json* others = one.find("duplicates");
    if (!others) continue;
    for (const Json& other : others->items()) {
      if (name_of(other.as_string()) == name_of(folder)) return standing->as_string();
    }
  }
  return "not checked again";
}

// The reduced program; empty if it cannot be read.
std::string program_of(const std::string& folder, const fuzz::KnownFinding& known) {
  const std::string path =
      folder + "/findings/" + std::filesystem::path(known.folder).filename().string();
  for (const char* part : {"/reduced/program.txt", "/program.txt"}) {
    if (auto text = read_text_file(path + part)) return *text;
  }
  return "";
}

// A table for each cause, those of most programs first.
std::string causes(const std::string& folder, const fuzz::CampaignState& state,
                   const Json& triaged) {
  std::map<std::string, std::vector<const fuzz::KnownFinding*>> by_cause;
  for (const fuzz::KnownFinding& known : state.findings) by_cause[known.cause].push_back(&known);
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [cause, findings] : by_cause) {
    int64_t count = 0;
    for (const fuzz::KnownFinding* known : findings) count += known->count;
    order.emplace_back(-count, cause);
  }
  std::ranges::sort(order);
  std::string text;
  for (const auto& [count, cause] : order) {
    std::string rows;
    for (const fuzz::KnownFinding* known : by_cause[cause]) {
      rows += table_row({escaped(join(known->called)), std::to_string(known->count),
                         std::to_string(known->operators),
                         std::to_string(known->index) + " (seed " +
                             std::to_string(fuzz::program_seed(state.seed, known->index)) + ")",
                         escaped(standing_of(known->folder, triaged)),
                         element("code", escaped("tapml fuzz replay " + known->folder))});
    }
    text += element("h3", escaped(cause)) +
            table({"Operators", "Programs", "Calls", "First program", "On this build", "Replay"},
                  rows) +
            element("pre", escaped(program_of(folder, *by_cause[cause].front())));
  }
  return text;
}

// Programs by the oracle that rejected them: a kind of problem.
std::string oracles(const fuzz::CampaignState& state) {
  std::map<std::string, std::pair<int64_t, int64_t>> kinds;
  for (const fuzz::KnownFinding& known : state.findings) {
    ++kinds[known.kind].first;
    kinds[known.kind].second += known.count;
  }
  std::string rows;
  for (const auto& [kind, counts] : kinds) {
    rows += table_row({escaped(kind), std::to_string(counts.first), std::to_string(counts.second)},
                      true);
  }
  return rows.empty() ? "" : table({"Oracle", "Findings", "Programs"}, rows);
}

std::string features(const fuzz::CampaignState& state) {
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [name, count] : state.features) order.emplace_back(-count, name);
  std::ranges::sort(order);
  std::string rows;
  for (const auto& [count, name] : order) {
    rows += table_row({escaped(name), std::to_string(-count), percent(-count, state.tests)}, true);
  }
  return rows.empty() ? "" : table({"Feature", "Programs", "Share"}, rows);
}

std::string seeds(const std::string& folder, const fuzz::CampaignState& state) {
  return table({"What", "Value"},
               rows_of({{"seed", std::to_string(state.seed)},
                        {"programs", std::to_string(state.next)},
                        {"coverage", state.coverage.digest()},
                        {"options", state.options.json().dump()},
                        {"continue with", "tapml fuzz run --seed " + std::to_string(state.seed) +
                                              " --corpus " + folder}}));
}

}  // namespace

std::string campaign_page(const std::string& folder, const fuzz::CampaignState& state,
                          const Json& triaged) {
  topdown::Sections sections;
  sections.add("rates", "Rates", rates(state));
  sections.add("coverage", "Coverage over tests", curve(state));
  sections.add("causes", "Findings by cause", causes(folder, state, triaged));
  sections.add("oracles", "What each oracle caught", oracles(state));
  sections.add("features", "What the programs had", features(state));
  sections.add("seeds", "Seeds", seeds(folder, state));
  const int64_t found = std::ssize(state.findings);
  topdown::PageHead head;
  head.command = "fuzz report";
  head.title = "Campaign " + std::to_string(state.seed);
  head.line.verdict = found == 0 ? topdown::Verdict::kPass : topdown::Verdict::kFail;
  head.line.counts = {counted(state.tests, "test"), counted(found, "finding"),
                      counted(fuzz::count_causes(state.findings), "cause")};
  head.verdict = found == 0 ? "No program was compiled wrongly."
                            : "Some programs were compiled wrongly, or not at all.";
  return topdown::page_shell(head, sections);
}

}  // namespace tapml::cli
