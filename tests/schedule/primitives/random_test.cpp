// Random legal sequences of primitives over several programs: the interpreter gives the same
// results before and after each, the result prints and parses, the trace replays.
#include <gtest/gtest.h>

#include <cstdlib>

#include "random_schedule.h"

namespace tapml::testing {
namespace {

// TAPML_SCHEDULE_SEEDS=N tries N seeds per program.
uint64_t seeds() {
  const char* text = std::getenv("TAPML_SCHEDULE_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 25;
}

TEST(RandomSchedules, KeepTheMeaning) {
  std::map<std::string, int> counts;
  for (const Example& example : examples()) {
    tir::PrimFuncRef func = parse_program(example.source);
    for (uint64_t seed = 1; seed <= seeds(); ++seed) {
      SCOPED_TRACE(std::string(example.name) + ", seed " + std::to_string(seed));
      RandomSchedule random(func, seed);
      random.gpu = seed % 3 == 0;
      for (int step = 0; step < 24; ++step) {
        schedule::Schedule before = random.schedule;
        std::string done = random.step();
        if (done.empty()) continue;
        ++counts[done];
        expect_same_results(func, random.schedule.func(), example.sizes, example.tolerance,
                            example.integral);
        expect_same_results(func, reversed(random.schedule.func()), example.sizes,
                            example.tolerance, example.integral);
        if (HasFailure()) {
          FAIL() << done << " of\n"
                 << text::print(*before.func(), "k") << random.schedule.trace().print();
        }
      }
      expect_round_trip(random.schedule.func());
      expect_replays(random.schedule, func);
      if (HasFailure()) return;
    }
  }
  std::string met;
  for (const auto& [name, count] : counts) met += name + " " + std::to_string(count) + ", ";
  SCOPED_TRACE(met);
  // Every primitive occurs (tensorize has its own tests).
  EXPECT_GE(counts.size(), seeds() >= 25 ? 17u : 1u);
}

}  // namespace
}  // namespace tapml::testing
