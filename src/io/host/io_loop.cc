#include "io/host/io_loop.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace tiphys::host {

void IoLoop::post(std::function<void()> task) { boost::asio::post(context_, std::move(task)); }

void IoLoop::run() { context_.run(); }

void IoLoop::stop() { context_.stop(); }

}  // namespace tiphys::host
