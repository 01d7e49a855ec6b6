#include "tracker/lease_table.h"

#include <gtest/gtest.h>

namespace tapml::tracker {
namespace {

TEST(LeaseTable, GivesTheDeviceThatWaitsLongestToTheFirstClient) {
  LeaseTable table;
  table.add_device(1, "lab", "a");
  table.add_device(2, "lab", "b");
  EXPECT_FALSE(table.grant("lab"));
  table.add_client(10, "lab", 0, "x");
  table.add_client(11, "lab", 0, "y");
  table.add_client(12, "other", 0, "z");
  const auto first = table.grant("lab"), second = table.grant("lab");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->client, 10);
  EXPECT_EQ(first->device, 1);
  EXPECT_EQ(second->client, 11);
  EXPECT_EQ(second->device, 2);
  EXPECT_FALSE(table.grant("lab"));
  EXPECT_FALSE(table.grant("other"));
  EXPECT_EQ(table.waiting_clients(), 1);
}

TEST(LeaseTable, ThePriorityComesBeforeTheOrderOfArrival) {
  LeaseTable table;
  table.add_client(1, "lab", 0, "");
  table.add_client(2, "lab", 5, "");
  table.add_client(3, "lab", -5, "");
  table.add_client(4, "lab", 5, "");
  EXPECT_EQ(table.waiting("lab"), (std::vector<LeaseTable::Id>{2, 4, 1, 3}));
  EXPECT_EQ(table.place(2).place, 1);
  EXPECT_EQ(table.place(4).place, 2);
  EXPECT_EQ(table.place(3).place, 4);
  EXPECT_EQ(table.place(3).devices, 0);
  table.remove(4);
  EXPECT_EQ(table.place(3).place, 3);
  table.add_device(9, "lab", "");
  EXPECT_EQ(table.grant("lab")->client, 2);
  EXPECT_EQ(table.place(1).place, 1);
  EXPECT_EQ(table.place(1).devices, 1);
}

TEST(LeaseTable, WhoLeavesIsForgotten) {
  LeaseTable table;
  table.add_device(1, "lab", "");
  table.add_client(2, "lab", 0, "");
  ASSERT_TRUE(table.grant("lab"));
  table.remove(2);
  // The session of the device is over; it registers again.
  table.add_client(3, "lab", 0, "");
  EXPECT_FALSE(table.grant("lab"));
  table.remove(1);
  table.remove(3);
  table.remove(77);
  EXPECT_EQ(table.devices(), 0);
  EXPECT_EQ(table.waiting_clients(), 0);
  EXPECT_EQ(table.status().dump(), R"({"keys":[]})");
}

TEST(LeaseTable, TheStatusHasDevicesAndQueues) {
  LeaseTable table;
  table.add_device(1, "lab", "10.0.0.1:5");
  table.add_device(2, "lab", "10.0.0.2:5");
  table.add_client(3, "lab", 0, "10.0.0.3:5");
  ASSERT_TRUE(table.grant("lab"));
  table.add_client(4, "phone", 7, "10.0.0.4:5");
  EXPECT_EQ(table.status().dump(),
            R"({"keys":[{"key":"lab","devices":[{"peer":"10.0.0.1:5","state":"leased","seconds":0,)"
            R"("client":"10.0.0.3:5"},{"peer":"10.0.0.2:5","state":"free","seconds":0}],)"
            R"("waiting":[]},{"key":"phone","devices":[],"waiting":[{"place":1,)"
            R"("peer":"10.0.0.4:5","priority":7,"seconds":0}]}]})");
}

}  // namespace
}  // namespace tapml::tracker
