// The last line of every command that validates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapml::topdown {

enum class Verdict : uint8_t {
  kPass,
  kFail,
  // Nothing tested is wrong, but not everything was tested.
  kNotProven,
};
const char* verdict_word(Verdict verdict);  // "PASS", "FAIL", "NOT PROVEN"

struct VerdictLine {
  Verdict verdict = Verdict::kPass;
  // The facts that support it, most important first: "28 of 28 kernels", "120 calls", "3 untested".
  std::vector<std::string> counts;

  bool passed() const { return verdict == Verdict::kPass; }
  std::string text() const;  // "PASS 28 of 28 kernels, 120 calls"
};

// "1 call", "2 calls": `thing` in the singular, with its plural in s.
std::string count_of(int64_t number, const std::string& thing);
// "3 of 28 kernels".
std::string share_of(int64_t part, int64_t all, const std::string& thing);

}  // namespace tapml::topdown
