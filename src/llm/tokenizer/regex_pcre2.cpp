#include "llm/tokenizer/regex_pcre2.h"

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>

#include <algorithm>
#include <string>

#include "llm/tokenizer/regex_dialect.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// Grown on demand: most patterns need only the matcher's own 32 KiB.
constexpr size_t kJitStackStart = size_t{64} << 10;
// Limits grow with the text, because each repetition of a group is remembered. Only patterns that
// backtrack a lot reach them.
constexpr size_t kJitStackLeast = size_t{16} << 20;
constexpr size_t kJitStackMost = size_t{1} << 30;
constexpr size_t kJitStackPerByte = 64;
constexpr size_t kStepsLeast = 10'000'000;
constexpr size_t kStepsMost = size_t{1} << 31;
constexpr size_t kStepsPerByte = 32;

struct Free {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof(buffer)) < 0) return std::to_string(code);
  return reinterpret_cast<const char*>(buffer);
}

// What one call of find_all needs in addition to the pattern.
struct Scratch {
  Owned<pcre2_match_data> data;
  Owned<pcre2_match_context> context;
  Owned<pcre2_jit_stack> stack;
  uint32_t options = PCRE2_NO_UTF_CHECK;

  // Whether another attempt is possible after a match of `text` failed with `code`.
  bool can_retry(int code, std::string_view text) {
    if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT) {
      return !context && text.size() * kStepsPerByte > kStepsLeast && set_limits(text);
    }
    if (code != PCRE2_ERROR_JIT_STACKLIMIT || (options & PCRE2_NO_JIT)) return false;
    if (!context && !set_limits(text)) return false;
    if (!stack) {
      const size_t most = std::clamp(text.size() * kJitStackPerByte, kJitStackLeast, kJitStackMost);
      stack.reset(pcre2_jit_stack_create(kJitStackStart, most, nullptr));
      pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
      if (stack) return true;
    }
    options |= PCRE2_NO_JIT;  // the interpreter uses the heap
    return true;
  }

 private:
  bool set_limits(std::string_view text) {
    context.reset(pcre2_match_context_create(nullptr));
    if (!context) return false;
    const size_t steps = std::clamp(text.size() * kStepsPerByte, kStepsLeast, kStepsMost);
    pcre2_set_match_limit(context.get(), static_cast<uint32_t>(steps));
    pcre2_set_depth_limit(context.get(), static_cast<uint32_t>(steps));
    return true;
  }
};

class Pcre2Regex : public Regex {
 public:
  explicit Pcre2Regex(Owned<pcre2_code> code) : code_(std::move(code)) {}

  Status find_all(std::string_view text, std::vector<Span>& matches) const override {
    Scratch scratch;
    // Only the whole match is read, so one pair of offsets is enough.
    scratch.data.reset(pcre2_match_data_create(1, nullptr));
    if (!scratch.data) {
      return fail(platform_error(PlatformFault::kOutOfMemory, "no memory for matching"));
    }
    size_t from = 0;
    size_t last_end = std::string_view::npos;
    while (from <= text.size()) {
      const int count = match(text, from, scratch);
      if (count == PCRE2_ERROR_NOMATCH) break;
      if (count < 0) {
        return fail(platform_error(
            PlatformFault::kLimit, "a regular expression gave up on the text: " + message_of(count),
            "byte " + std::to_string(from) + " of " + std::to_string(text.size())));
      }
      const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(scratch.data.get());
      const Span span{offsets[0], offsets[1]};
      const bool empty = span.end <= span.begin;
      if (!empty || span.begin != last_end) matches.push_back(span);
      last_end = span.end;
      if (!empty) {
        from = span.end;
      } else if (span.begin < text.size()) {
        from = span.begin + next_utf8(text, span.begin).length;
      } else {
        break;
      }
    }
    return {};
  }

 private:
  int match(std::string_view text, size_t from, Scratch& scratch) const {
    for (;;) {
      const int count =
          pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                      scratch.options, scratch.data.get(), scratch.context.get());
      if (count >= 0 || !scratch.can_retry(count, text)) return count;
    }
  }

  Owned<pcre2_code> code_;
};

class Pcre2Engine : public RegexEngine {
 public:
  Result<std::unique_ptr<Regex>> compile(std::string_view pattern) const override {
    TAPML_ASSIGN(const std::string translated, onig_to_pcre2(pattern));
    Owned<pcre2_compile_context> context(pcre2_compile_context_create(nullptr));
    if (!context) {
      return fail(platform_error(PlatformFault::kOutOfMemory, "no memory for a pattern"));
    }
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int code = 0;
    PCRE2_SIZE offset = 0;
    // In Ruby syntax ^ and $ always match at lines.
    Owned<pcre2_code> compiled(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &code,
                      &offset, context.get()));
    if (!compiled) {
      return fail(user_error("the regular expression does not compile: " + message_of(code),
                             "byte " + std::to_string(offset) + " of " + translated, "",
                             std::string(pattern)));
    }
    // If the system forbids executable memory, the interpreter gives the same answers, more slowly.
    (void)pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE);
    return std::make_unique<Pcre2Regex>(std::move(compiled));
  }
};

}  // namespace

const RegexEngine& pcre2_regex_engine() {
  static const Pcre2Engine engine;
  return engine;
}

}  // namespace tapml::tokenizer
