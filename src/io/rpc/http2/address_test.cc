#include "io/rpc/http2/address.h"

#include <gtest/gtest.h>

#include <string>

namespace tiphys::rpc::http2 {
namespace {

TEST(SocketAddresses, ComeBackAsText) {
  for (const char* text :
       {"127.0.0.1:25551", "0.0.0.0:0", "[::1]:80", "[::]:65535", "unix:/run/ank.sock"}) {
    const auto address = parse_socket_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_string(*address), text);
  }
}

TEST(SocketAddresses, AreRefusedWithWhatIsExpected) {
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                           "127.0.0.1:-1", ":80", "::1:80", "[::1]", "localhost:80", "unix:"})
    EXPECT_FALSE(parse_socket_address(text)) << text;
  EXPECT_FALSE(parse_socket_address("unix:/" + std::string(200, 'x')));
  EXPECT_EQ(parse_socket_address("nonsense").error().message,
            "'nonsense' is no address; expected IP:PORT, [IPv6]:PORT or unix:PATH");
}

TEST(HostsAndPorts, MayBeNames) {
  EXPECT_EQ(parse_host_port("localhost:80")->host, "localhost");
  EXPECT_EQ(parse_host_port("[fe80::1%eth0]:80")->host, "fe80::1%eth0");
  EXPECT_EQ(parse_host_port("x:443")->port, 443);
}

}  // namespace
}  // namespace tiphys::rpc::http2
