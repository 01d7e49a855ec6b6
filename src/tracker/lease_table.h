// Which devices wait for a client, which clients wait for a device, and who gets whom. Knows
// nothing of connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "io/json.h"

namespace tapml::tracker {

class LeaseTable {
 public:
  using Clock = std::chrono::steady_clock;
  using Id = int64_t;  // of a device or a client, chosen by the caller

  struct Grant {
    Id client, device;
  };
  struct Place {
    int64_t place = 0;    // 1: the next one
    int64_t devices = 0;  // with the client's key
  };

  // `peer` is shown in the status.
  void add_device(Id device, const std::string& key, std::string peer);
  // Of the clients of a key, the one with the highest priority is next; among equals, the first.
  void add_client(Id client, const std::string& key, int64_t priority, std::string peer);
  // Takes a device or a client away, wherever it is; ignores an unknown one. A device whose client
  // is gone is not given to another one: its session is over, and it registers again.
  void remove(Id id);
  // The next pair of a client and the device that waits longest; nothing if no key has both.
  std::optional<Grant> grant(const std::string& key);

  Place place(Id client) const;
  // The clients that wait for a device of a key, the next one first.
  std::vector<Id> waiting(const std::string& key) const;
  int64_t devices() const { return std::ssize(devices_); }
  int64_t waiting_clients() const { return waiting_; }
  // {"keys": [{"key", "devices": [{"peer", "state", "seconds"}], "waiting": [{"place", "peer",
  // "priority", "seconds"}]}]}
  Json status() const;

 private:
  using Turn = std::tuple<int64_t, int64_t, Id>;  // minus the priority, the order of arrival

  struct Device {
    std::string key, peer, client;  // client: the peer that leases it
    bool is_leased = false;
    int64_t order = 0;
    Clock::time_point since;
  };
  struct Client {
    std::string key, peer;
    Turn turn;
    bool is_served = false;
    Clock::time_point since;
  };
  struct Key {
    std::set<std::pair<int64_t, Id>> idle;  // by the order of arrival
    std::set<Id> devices;                   // all of them
    std::set<Turn> queue;
  };
  void forget_if_empty(const std::string& key);

  std::map<Id, Device> devices_;
  std::map<Id, Client> clients_;
  std::map<std::string, Key> keys_;
  int64_t arrivals_ = 0, waiting_ = 0;
};

}  // namespace tapml::tracker
