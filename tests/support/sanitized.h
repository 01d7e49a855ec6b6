// Whether this build runs under a sanitizer with shadow memory: it replaces the allocator, maps
// terabytes of addresses, and makes some tests ten times slower.
#pragma once

#define TAPML_SANITIZED 0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef TAPML_SANITIZED
#define TAPML_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef TAPML_SANITIZED
#define TAPML_SANITIZED 1
#endif
#endif

namespace tapml::testing {
inline constexpr bool kSanitized = TAPML_SANITIZED;
}
