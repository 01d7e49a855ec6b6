// Standard input and output as a channel.
#pragma once

namespace tapml::app {

struct StandardStreams {
  int in = -1, out = -1;  // descriptors, owned by the caller
};

// Reserves standard input and output for a protocol: other writes to standard output go to standard
// error. UserError if they are not open.
StandardStreams take_standard_streams();

}  // namespace tapml::app
