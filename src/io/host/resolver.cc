#include "io/host/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/strings.h"

namespace tiphys::host {

namespace asio = boost::asio;

namespace {

tl::unexpected<Error> cannot_resolve(const std::string& host, std::string_view reason) {
  return fail(Code::kUnavailable, concat("cannot resolve '", host, "': ", reason));
}

// flags: AI_NUMERICHOST asks nobody and takes addresses only.
Result<std::vector<Address>> look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;  // without it every address comes once for each kind of socket
  hints.ai_flags = flags;
  addrinfo* first = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &first); error != 0)
    return cannot_resolve(host, error == EAI_SYSTEM ? std::generic_category().message(errno)
                                                    : std::string(::gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(first, &::freeaddrinfo);

  std::vector<Address> addresses;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> ip{};
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, ip.data(), ip.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0)
      addresses.push_back({ip.data(), port});
  }
  if (addresses.empty()) return cannot_resolve(host, "it has no address of a kind that we know");
  return addresses;
}

}  // namespace

std::string to_string(const Address& address) {
  const bool is_v6 = address.ip.find(':') != std::string::npos;
  return concat(is_v6 ? "[" : "", address.ip, is_v6 ? "]:" : ":", std::to_string(address.port));
}

void Resolver::resolve(std::string host, std::uint16_t port, asio::any_io_executor executor,
                       std::function<void(Result<std::vector<Address>>)> done) {
  auto tell = [executor = std::move(executor),
               done = std::move(done)](Result<std::vector<Address>> addresses) mutable {
    asio::post(executor, [done = std::move(done), addresses = std::move(addresses)]() mutable {
      done(std::move(addresses));
    });
  };
  if (host.empty()) return tell(cannot_resolve(host, "the name is empty"));
  if (host.find('\0') != std::string::npos)
    return tell(cannot_resolve(host.c_str(), "a zero byte follows"));
  if (auto addresses = look_up(host, port, AI_NUMERICHOST)) return tell(std::move(addresses));
  workers_.run([host = std::move(host), port,
                tell = std::move(tell)]() mutable { tell(look_up(host, port, 0)); },
               [] {});
}

}  // namespace tiphys::host
