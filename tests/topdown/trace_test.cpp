#include "topdown/profile/trace.h"

#include <gtest/gtest.h>

namespace tapml::topdown {
namespace {

using Kind = runtime::TraceEvent::Kind;

TEST(ChromeTrace, HasAllTracksOnOneClock) {
  const TraceTrack local{"cpu", {{Kind::kKernel, false, "add", 5'000'000, 2'000, 0}}, {"f32[3]"}};
  const TraceTrack remote{"opencl@there",
                          {{Kind::kWait, false, "call decode", 5'001'000, 9'000, 0},
                           {Kind::kCopy, true, "write", 5'004'000, 1'000, 64}},
                          {}};
  const Json trace = chrome_trace({local, remote});
  std::string text;
  for (const Json& event : trace.find("traceEvents")->items()) {
    const bool named = event.find("ph")->as_string() == "M";
    text += event.find("name")->as_string() + " " +
            std::to_string(event.find("pid")->as_integer()) + "." +
            std::to_string(event.find("tid")->as_integer()) + " ";
    if (named) {
      text += event.find("args")->find("name")->as_string() + "\n";
    } else {
      text += event.find("cat")->as_string() + " " + event.find("ts")->dump() + " " +
              event.find("dur")->dump() + " " + event.find("args")->dump() + "\n";
    }
  }
  EXPECT_EQ(text,
            "process_name 1.1 cpu\n"
            "thread_name 1.1 local\n"
            "add 1.1 kernel 0.0 2.0 {\"tensors\":\"f32[3]\"}\n"
            "process_name 2.1 opencl@there\n"
            "thread_name 2.1 local\n"
            "thread_name 2.2 remote\n"
            "call decode 2.1 wait 1.0 9.0 {}\n"
            "write 2.2 copy 4.0 1.0 {\"bytes\":64}\n");
}

}  // namespace
}  // namespace tapml::topdown
