// A stage whose instructions are counted.
#pragma once

#include <functional>
#include <string>

// The counter, by this function's name, counts inside it and writes its result when it returns.
extern "C" void tapml_counted_stage(const std::function<void()>& work);

namespace tapml::bench {

// Runs `work` and prints `name`.
void stage(const std::string& name, const std::function<void()>& work);

}  // namespace tapml::bench
