// Human-readable numbers, sizes and times.
#pragma once

#include <cstdint>
#include <string>

namespace tapml {

// "1 kernel", "2 kernels", for nouns that take an s.
std::string counted(int64_t count, const std::string& noun);
// "512 bytes", "1.5 KiB", "270 MiB", "3.20 GiB": three digits, units of 1024.
std::string size_text(int64_t bytes);
// "850 ns", "12.3 µs", "4.56 ms", "1.20 s": three digits.
std::string time_text(double seconds);

}  // namespace tapml
