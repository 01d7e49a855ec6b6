// A stage whose instructions are counted.
#pragma once

#include <functional>
#include <string>

// The counter collects inside this function, by its name, and writes what it has when it returns.
extern "C" void tapml_counted_stage(const std::function<void()>& work);

namespace tapml::bench {

// Runs `work` and prints `name`.
void stage(const std::string& name, const std::function<void()>& work);

}  // namespace tapml::bench
