// What is known of a process that crashed: written by its signal handler into memory that it shares
// with the process that watches it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/launch_note.h"

namespace tapml::rpc {

struct CrashReport {
  static constexpr int kFrames = 32;
  struct Frame {
    uintptr_t address = 0;
    uintptr_t offset = 0;  // into the symbol, or into the object where there is no symbol
    char object[64] = {};  // end of its file's name; empty: no file (generated code)
    char symbol[160] = {};
  };
  std::atomic<int> signal = 0;  // 0: none came
  int64_t data_bytes = 0;       // data and private mappings of the process then
  uintptr_t address = 0;        // that was used, of SIGSEGV and SIGBUS
  Frame instruction;            // where it happened
  // Of the launch that ran: its entry, and the argument that the address lies at (-1: none), so far
  // from where that begins.
  bool launching = false, write = false;
  int argument = -1;
  int64_t byte = 0;
  char entry[160] = {};
  std::atomic<int> frames = 0;
  Frame stack[kFrames];
};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

// From now on a crash of this process fills `report`, which must stay mapped. Once a process.
// `launch`, where given, is kept by the device that is watched.
void install_crash_handler(CrashReport& report,
                           const runtime::LaunchNote* launch = nullptr) noexcept;
// Once more, where a library has put a handler of its own in its place.
void keep_crash_handler() noexcept;

bool is_crash_signal(int signal) noexcept;

// "SIGSEGV"
std::string signal_name(int signal);
// "SIGSEGV at address 0x10, a write to byte 4 of argument 0 of scale", and a line for each frame.
std::string crash_text(const CrashReport& report);

}  // namespace tapml::rpc
