#include "io/rpc/signal.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/check.h"

namespace tiphys::rpc {

namespace asio = boost::asio;

asio::awaitable<void> Signal::wait() {
  const auto begin = [this](auto handler) {
    TIPHYS_CHECK(!waiting_, "two coroutines wait for one signal");
    slot_ = asio::get_associated_cancellation_slot(handler);
    if (slot_.is_connected())
      slot_.assign([this](asio::cancellation_type) { complete(asio::error::operation_aborted); });
    waiting_.emplace(std::move(handler));
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(boost::system::error_code)>(
      begin, asio::use_awaitable);
}

void Signal::raise() { complete({}); }

void Signal::complete(const boost::system::error_code& error) {
  if (!waiting_) return;
  auto handler = std::move(*waiting_);
  waiting_.reset();
  if (slot_.is_connected()) slot_.clear();
  std::move(handler)(error);
}

}  // namespace tiphys::rpc
