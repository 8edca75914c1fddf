#pragma once

// The bytes of one socket, plain or with TLS, without blocking: each operation does what it can at once and says what it
// waits for. No buffers of its own when idle.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/host/tls_context.h"
#include "io/rpc/http_stream.h"

namespace tiphys::rpc::http2 {

enum class Need : std::uint8_t { kNothing, kReadable, kWritable };

struct Progress {
  std::size_t bytes = 0;
  Need need = Need::kNothing;  // before it is worth trying again
  bool is_ended = false;       // the peer has gone: it closed its side, or went without reading all
};

class Transport {
 public:
  virtual ~Transport() = default;
  // To be called until it needs nothing, before anything else.
  virtual Result<Progress> handshake() = 0;
  virtual Result<Progress> read(char* into, std::size_t size) = 0;
  virtual Result<Progress> write(std::string_view bytes) = 0;
  // Says goodbye where the protocol has a word for it; does not wait.
  virtual void shut_down() = 0;
  // After the handshake.
  virtual void identify(Peer& peer) const = 0;
};

// Both use the descriptor, which stays the caller's.
std::unique_ptr<Transport> plain_transport(int descriptor);
Result<std::unique_ptr<Transport>> tls_server_transport(int descriptor,
                                                        const host::TlsContext& context);
Result<std::unique_ptr<Transport>> tls_client_transport(int descriptor,
                                                        const host::TlsContext& context,
                                                        const std::string& server_name);

}  // namespace tiphys::rpc::http2
