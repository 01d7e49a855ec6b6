// The line in which every command that validates ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapml::topdown {

enum class Verdict : uint8_t {
  kPass,
  kFail,
  // Nothing is wrong in what was tested, and not all was.
  kNotProven,
};
const char* verdict_word(Verdict verdict);  // "PASS", "FAIL", "NOT PROVEN"

struct VerdictLine {
  Verdict verdict = Verdict::kPass;
  // What it rests on, most important first: "28 of 28 kernels", "120 calls", "3 untested".
  std::vector<std::string> counts;

  bool passed() const { return verdict == Verdict::kPass; }
  std::string text() const;  // "PASS 28 of 28 kernels, 120 calls"
};

// "1 call", "2 calls": `thing` in the singular, with a plural in s.
std::string count_of(int64_t number, const std::string& thing);
// "3 of 28 kernels".
std::string share_of(int64_t part, int64_t all, const std::string& thing);

}  // namespace tapml::topdown
