// Standard input and output as a channel.
#pragma once

namespace tapml::app {

struct StandardStreams {
  int in = -1, out = -1;  // descriptors, whose owner the caller is
};

// Keeps standard input and output for a protocol: whatever else writes there goes to standard
// error. UserError where they are not open.
StandardStreams take_standard_streams();

}  // namespace tapml::app
