// A migration with kernels of every outcome, for pages, and texts that break a page if they are not
// escaped.
#pragma once

#include <algorithm>
#include <limits>
#include <string>

#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"

namespace tapml::topdown {

// Text that breaks a page if it is not escaped.
inline const std::string kNasty = "</pre><script>alert(\"1\")</script> & 'x' \x01\xff";

inline int64_t count_in(const std::string& text, const std::string& part) {
  int64_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

// A kernel of two layers, called once in each.
inline KernelVerdict verdict_in_two_layers(const std::string& name, double first_ratio,
                                           double second_ratio) {
  KernelVerdict one;
  one.kernel = name;
  one.origin = {"model.layers.0.mlp", "model.layers.1.mlp"};
  one.calls = 2;
  one.shapes = {"[1, 4]"};
  one.groups = {{"prefill", {"model.layers.0.mlp"}, 2, 1, 1, first_ratio},
                {"prefill", {"model.layers.1.mlp"}, 5, 1, 1, second_ratio}};
  one.passed = first_ratio <= 1 && second_ratio <= 1;
  one.worst_output = "out";
  one.worst_sequence = 5;
  one.worst.target.compared = 4;
  one.outputs = {{"out", 4, 4, 0}};
  one.worst.target.max_abs = 0.5;
  one.worst.target.max_ratio = std::max(first_ratio, second_ratio);
  one.worst.allowed = 0.25;
  return one;
}

inline MigrationStep step_for(const KernelVerdict& verdict) {
  MigrationStep one;
  one.unit = verdict.kernel;
  one.verdict = verdict;
  one.migrated = verdict.passed;
  one.hybrid.positions = verdict.passed ? 3 : 0;
  return one;
}

inline Migration wrong_migration() {
  Migration migration;
  migration.source = "cpu";
  migration.target = "opencl";
  migration.margins = {{.token = 5, .margin = 2.5, .bound = 1e-3},
                       {.token = 6, .margin = 1e-3, .bound = 1e-3}};
  KernelVerdict crash = verdict_in_two_layers("crash_1", 0, 0);
  crash.passed = false;
  crash.failed = Failure::kCrash;
  crash.failure = kNasty;
  for (CallGroup& group : crash.groups) group.compared = 0;
  KernelVerdict own = verdict_in_two_layers("own_2", 0.5, 0.25);
  own.provider = "user:kernels/<b>.cl";
  own.tolerance = Tolerance{"own_*", 2, 0, "the driver's exp2 " + kNasty};
  own.tolerated = true;
  KernelVerdict differs = verdict_in_two_layers("differs_3", 0.5, 40);
  differs.difference =
      DifferenceMap{.shape = {1, 4},
                    .height = 1,
                    .width = 4,
                    .block_height = 1,
                    .block_width = 1,
                    .rows = 1,
                    .columns = 4,
                    .blocks = {0, 0.5, 40, std::numeric_limits<double>::infinity()},
                    .outside = 2,
                    .first_row = 0,
                    .last_row = 0,
                    .first_column = 2,
                    .last_column = 3};
  migration.steps = {step_for(crash), step_for(own), step_for(differs)};
  migration.failed["differs_3"].source = {.loops = "for i < 4", .code = kNasty, .language = "c"};
  migration.sources["own_2"] = {.loops = "for k < 8", .code = kNasty, .language = "opencl"};
  migration.untried = {"untried_4"};
  migration.untried_calls = {{{"decode", {"model.norm"}, 9, 1, 0, 0}}};
  migration.speed.ceilings = {.flops_per_s = 1e9, .bytes_per_s = 1e9};
  migration.speed.kernels = {{.kernel = "own_2",
                              .sequence = 5,
                              .seconds = 1e-3,
                              .work = {.flops = 1, .bytes = 1e5},
                              .slow = true}};
  migration.timeline = {{"steps", "compile for cpu", 0, 1.5}, {"replay", kNasty, 1.5, 0.25}};
  return migration;
}

inline ReportTexts nasty_texts() {
  ReportTexts texts;
  texts.model = "models/<demo>";
  texts.prompt = kNasty;
  texts.source_text = texts.target_text = kNasty;
  texts.token_texts = {kNasty, " of"};
  texts.command = "tapml migrate";
  texts.run = {.date = iso_date(0),
               .version = "9.8.7",
               .machine = {"A <fast> one", 4, 3 << 20, "Minix & co"},
               .model = "models/<demo>",
               .hash = "0123abcd",
               .hashed = "weights"};
  return texts;
}

}  // namespace tapml::topdown
