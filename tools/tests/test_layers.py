from fake_tree import FakeTree


class CheckLayers(FakeTree):
    def including(self, name, *headers):
        self.write(name, "".join(f"#include {header}\n" for header in headers))

    def test_accepts_includes_to_the_left(self):
        self.including("src/core/agent/roster.cc", '"core/agent/roster.h"', '"core/workload/control_loop.h"',
                       '"model/workload.h"', '"base/result.h"', "<vector>")
        self.including("src/core/server/server.cc", '"core/scheduler/auction.h"')
        self.including("src/io/link/client.cc", '"io/rpc/channel.h"', '"io/wire/messages.h"', '"shell/ports.h"')
        self.including("sim/world.cc", '"io/wire/messages.h"', '"shell/ports.h"', '"sim/network.h"')
        self.including("src/core/agent/roster_test.cc", '"sim/fake_engine.h"')
        self.including("tests/wire/peer_test.cc", '"io/rpc/channel.h"', "<google/protobuf/message.h>")
        self.assert_passes("check-layers")

    def test_refuses_what_points_the_wrong_way(self):
        for name, header in [("src/model/workload.h", '"core/agent/roster.h"'),
                             ("src/core/agent/roster.cc", '"shell/ports.h"'),
                             ("src/core/agent/roster.cc", '"core/server/server.h"'),
                             ("src/core/workload/control_loop.cc", '"core/agent/roster.h"'),
                             ("src/core/server/server.cc", '"core/workload/control_loop.h"'),
                             ("src/shell/strand.cc", '"io/wire/messages.h"'),
                             ("src/io/store/sqlite.cc", '"io/link/client.h"'),
                             ("src/io/store/sqlite.cc", '"src/cli/table.h"'),
                             ("src/shell/strand.cc", '"sim/world.h"'),
                             ("sim/world.cc", '"io/rpc/channel.h"'),
                             ("sim/world.cc", '"apps/agent/wiring.h"')]:
            with self.subTest(name=name, header=header):
                self.including(name, header)
                self.assert_fails(f"{name}:1: includes", "check-layers")
                (self.root / name).unlink()

    def test_keeps_heavy_headers_in_one_source_file(self):
        self.including("src/text/json.cc", "<nlohmann/json.hpp>")
        self.including("src/text/toml.cc", "<toml++/toml.h>")
        self.assert_passes("check-layers")
        self.including("src/cli/output.cc", "<nlohmann/json.hpp>")
        self.assert_fails("nlohmann may be included by one .cc file only", "check-layers")
        self.including("src/cli/output.cc")
        self.including("src/io/http/server.h", "<boost/beast.hpp>")
        self.assert_fails("Beast is too heavy for a header", "check-layers")

    def test_keeps_beast_in_the_source_files_of_its_library(self):
        self.including("src/io/http/message_reader.cc", "<boost/beast/http/basic_parser.hpp>")
        self.including("src/io/http/web_socket.cc", "<boost/beast/websocket/stream.hpp>")
        self.assert_passes("check-layers")
        self.including("src/io/rpc/channel.cc", "<boost/beast/core/flat_buffer.hpp>")
        self.assert_fails("Beast may be included in src/io/http/ only", "check-layers")

    def test_keeps_low_level_headers_in_their_layer(self):
        self.including("src/io/wire/messages.cc", '"proto/ank_base.pb.h"')
        self.including("src/shell/strand.cc", "<boost/asio/post.hpp>")
        self.assert_passes("check-layers")
        for name, header, library in [("src/core/server/server.cc", '"ank_base.pb.h"', "protobuf"),
                                      ("src/shell/ports.h", "<boost/asio.hpp>", "Asio"),
                                      ("src/shell/ports.cc", "<nghttp2/nghttp2.h>", "nghttp2"),
                                      ("sim/world.cc", "<google/protobuf/message_lite.h>", "protobuf")]:
            with self.subTest(name=name, header=header):
                self.including(name, header)
                self.assert_fails(f"{library} headers belong to", "check-layers")
                (self.root / name).unlink()
