#include "sim/cluster.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/match.h"
#include "base/strings.h"
#include "io/wire/wire.h"
#include "model/protocol_version.h"
#include "sim/checkers.h"
#include "sim/watcher.h"

namespace tiphys::sim {
namespace {

constexpr Duration kReconnectPause = seconds(1);
constexpr Duration kLoadPeriod = seconds(20);

shell::CreateResult<shell::ContainerSpec> read_config(const WorkloadSpec& spec) {
  const std::string& config = spec.workload().runtime_config;
  constexpr std::string_view kImage = "image: ";
  if (!config.starts_with(kImage))
    return tl::unexpected(shell::CreateError{"missing field `image`", false});
  shell::ContainerSpec container;
  container.image = split(std::string_view(config).substr(kImage.size()), ' ').front();
  return container;
}

}  // namespace

void SimLog::write(shell::Level level, std::string_view text, Fields) {
  world_.line(concat("log: ", text));
  if (level == shell::Level::kError) world_.fail(concat("an error was logged: ", text));
}

// -- Server ---------------------------------------------------------------------------------------------------------

ServerNode::Life::Life(ServerNode& node)
    : process(node.world_),
      hooks(node.world_, process),
      shell(
          process, process, process, node.world_, node.log_, node.records_, node,
          [&node](const std::string& text) {
            // A supervisor starts the server again.
            node.world_.line("server: fatal: " + text);
            node.world_.count("server gave up");
            node.world_.after({}, [&node] { node.kill(); });
            node.world_.after(seconds(1), [&node] { node.start(); });
          },
          shell::Hooks{node.hooks_, &hooks}) {}

ServerNode::ServerNode(World& world, Network& network, Mutation mutation, bool durable,
                       std::optional<State> manifest, std::vector<server::Hook> hooks)
    : world_(world),
      network_(network),
      mutation_(mutation),
      log_(world),
      records_(world, mutation),
      durable_(durable),
      manifest_(std::move(manifest)),
      hooks_(std::move(hooks)) {
  network_.listen(
      [this](ConnectionNumber connection, StreamEnd& end) { return accept(connection, end); });
}

void ServerNode::start() {
  if (life_) return;
  world_.line("server: started");
  life_ = std::make_unique<Life>(*this);
  records_.attach(&life_->process);
  life_->shell.start(manifest_);
}

void ServerNode::kill() {
  if (!life_) return;
  world_.line("server: killed");
  life_.reset();
  ++lives_;
  records_.attach(nullptr);
  if (!durable_) records_.forget();
  network_.server_died();
}

bool ServerNode::accept(ConnectionNumber connection, StreamEnd& end) {
  if (!life_) return false;
  const auto in_this_life = [this, life = lives_] { return life_ && lives_ == life; };
  end.received = [this, connection, in_this_life](const std::string& bytes) {
    if (in_this_life()) received(connection, bytes);
  };
  end.ended = [this, connection, in_this_life] {
    if (in_this_life() && life_->greeted.erase(connection) > 0) life_->shell.closed(connection);
  };
  return true;
}

void ServerNode::received(ConnectionNumber connection, const std::string& bytes) {
  auto message = wire::decode_to_server(bytes);
  if (!message)
    return world_.fail("the server could not read a message: " + message.error().message);
  if (!life_->greeted.contains(connection)) {
    life_->greeted.insert(connection);
    match(
        *message,
        [&](const AgentHello& hello) {
          if (!check_protocol_version(hello.protocol_version))
            return world_.fail("a version was refused");
          life_->shell.opened({connection, server::AgentPeer{AgentName{hello.agent}, hello.tags}});
        },
        [&](const CommanderHello&) {
          life_->shell.opened(
              {connection,
               server::CommanderPeer{true, concat("cli-conn-", std::to_string(connection))}});
        },
        [&](const auto&) { world_.fail("a stream began without a hello"); });
    return;
  }
  // A real link would stop reading here; no run comes near that many waiting messages.
  if (!life_->shell.received(connection, *std::move(message)))
    world_.fail("the server did not keep up with its messages");
}

void ServerNode::send(ConnectionNumber connection, const FromServer& message) {
  check_stored(message);
  network_.send_to_client(connection, wire::encode(message));
}

void ServerNode::send_all(server::SendAll message) {
  for (const auto connection : message.to) send(connection, message.message);
}

void ServerNode::publish(server::Publish news) {
  if (mutation_ == Mutation::kDroppedEvent && world_.random().chance(1, 4)) return;
  const std::string content = wire::encode_content(std::move(news.content));
  for (const auto& [connection, request_id] : news.to)
    network_.send_to_client(connection, wire::encode_head(request_id, content.size()) + content);
}

void ServerNode::close(ConnectionNumber connection) { network_.close(connection); }

// Safety: nothing is sent before it is stored.
void ServerNode::check_stored(const FromServer& message) {
  match(
      message,
      [&](const ServerHello& hello) {
        for (const auto& spec : hello.added) check_stored(*spec);
      },
      [&](const UpdateWorkload& update) {
        for (const auto& spec : update.added) check_stored(*spec);
      },
      [](const auto&) {});
}

void ServerNode::check_stored(const WorkloadSpec& spec) {
  const auto& history =
      records_.history(concat(shell::kDesiredPrefix, "workloads/", spec.instance().workload.value));
  const bool stored =
      std::any_of(history.begin(), history.end(), [&](const std::optional<Tree>& value) {
        return value && *value->object<Workload>() == spec.workload();
      });
  if (!stored) world_.fail(concat("sent before it was stored: ", to_string(spec.instance())));
}

// -- Agent ----------------------------------------------------------------------------------------------------------

AgentNode::Life::Life(AgentNode& node)
    : process(node.world_),
      runtime({kRuntime, {kOwner, AgentName{node.name_}}, "Error getting state from the engine."},
              node.engine_, process, read_config),
      interfaces(node.world_, process),
      shell({AgentName{node.name_}, {kRuntime}}, process, process, process, node.world_, node.log_,
            node, interfaces, {{kRuntime, &runtime}}, node.folders_) {}

AgentNode::AgentNode(World& world, Network& network, Mutation mutation, std::string name)
    : world_(world),
      network_(network),
      mutation_(mutation),
      log_(world),
      name_(std::move(name)),
      engine_(world, name_, mutation),
      folders_(world, name_),
      // The workload of the manifest, because it is there most of the time.
      collector_(world, "from_manifest@logs-", [this](const ToServer& message) { send(message); }),
      order_(world, name_) {
  engine_.add_foreign("foreign." + name_);
}

void AgentNode::start() {
  if (life_) return;
  world_.line(name_ + ": started");
  life_ = std::make_unique<Life>(*this);
  engine_.attach(&life_->process);
  folders_.attach(&life_->process);
  connect();
  sample_load();
}

void AgentNode::kill() {
  if (!life_) return;
  world_.line(name_ + ": killed");
  life_.reset();
  order_.forget();
  engine_.attach(nullptr);
  folders_.attach(nullptr);
  collector_.disconnected();
  network_.client_died(name_);
}

void AgentNode::connect() {
  StreamEnd end;
  end.received = [this](const std::string& bytes) { received(bytes); };
  end.ended = life_->process.guarded([this] {
    life_->connection = 0;
    collector_.disconnected();
    life_->shell.disconnected();
    life_->process.after(kReconnectPause, [this] { connect(); });
  });
  life_->connection = network_.connect(name_, end);
  if (life_->connection == 0) return life_->process.after(kReconnectPause, [this] { connect(); });
  const AgentHello hello{name_, std::string(kProtocolVersion), {{"node", name_}}};
  network_.send_to_server(life_->connection, wire::encode(ToServer(hello)));
  life_->shell.connected();
}

void AgentNode::received(const std::string& bytes) {
  auto message = wire::decode_from_server(bytes);
  if (!message) return world_.fail("an agent could not read a message: " + message.error().message);
  const auto* response = std::get_if<Response>(&*message);
  if (response != nullptr && collector_.received(*response)) return;
  check_order();  // what it knew until now decides about what it is told
  order_.received(*message);
  if (!life_->shell.received(*std::move(message)))
    world_.fail("an agent did not keep up with its messages");
}

void AgentNode::ask_for_logs(const CompleteState& state) {
  if (life_ && life_->connection != 0) collector_.ask(state);
}

void AgentNode::sample_load() {
  life_->shell.load_sampled(
      AgentStatus{static_cast<std::uint32_t>(world_.random().below(101)), 1 << 30U});
  life_->process.after(kLoadPeriod, [this] { sample_load(); });
}

void AgentNode::send(const ToServer& message) {
  ToServer sent = message;
  if (auto* update = std::get_if<UpdateWorkloadState>(&sent)) {
    const bool mutate = world_.random().chance(1, 4);
    if (mutation_ == Mutation::kDroppedReport && mutate) return;
    if (mutation_ == Mutation::kWrongReport && mutate)
      for (auto& state : update->states) state.state = ExecutionState(Phase::kRunningOk);
    for (const auto& state : update->states) {
      check_report(state);
      if (life_) order_.reported(state, life_->shell.states());
    }
  }
  if (life_ && life_->connection != 0)
    network_.send_to_server(life_->connection, wire::encode(sent));
}

void AgentNode::check_order() {
  if (life_) order_.look_at(life_->shell.states());
}

bool AgentNode::is_held(const InstanceName& instance) const {
  return life_ && order_.is_held(instance, life_->shell.states());
}

// A server that reads slowly leaves lines with the link for a while.
void AgentNode::send(const ToServer& message, std::function<void()> taken) {
  if (mutation_ != Mutation::kDroppedLines || !world_.random().chance(1, 4)) send(message);
  const bool slow = world_.fault("link slow", 1, 20);
  life_->process.after(
      slow ? world_.draw(seconds(1), seconds(10)) : world_.draw({}, milliseconds(5)),
      std::move(taken));
}

// Safety: what an agent says of a container was so, and what it says is gone is gone.
void AgentNode::check_report(const WorkloadState& state) {
  const std::string name = to_string(state.instance);
  const auto claim = [&](workload::ContainerPhase phase, int exit_code) {
    if (!engine_.ever_was(name, {phase, {}, exit_code, false}))
      world_.fail(concat(name_, " reported ", to_string(state.state), " for ", name,
                         ", which was never so"));
  };
  switch (state.state.phase) {
    case Phase::kRunningOk:
      claim(workload::ContainerPhase::kRunning, 0);
      break;
    case Phase::kSucceededOk:
      claim(workload::ContainerPhase::kExited, 0);
      break;
    case Phase::kRemoved:
      for (const auto& [id, container] : engine_.containers())
        if (container.spec.name == name &&
            container.status.phase == workload::ContainerPhase::kRunning && !container.late &&
            !engine_.ever_doubled(name) && order_.has_had(state.instance))
          world_.fail(
              concat(name_, " reported that ", name, " is removed, but ", id.value, " runs"));
      break;
    default:
      break;
  }
}

// -- Operator -------------------------------------------------------------------------------------------------------

Operator::Operator(World& world, Network& network, std::vector<std::string> agents)
    : world_(world),
      network_(network),
      agents_(std::move(agents)),
      collector_(world, "logs-", [this](const ToServer& message) {
        if (connection_ != 0) network_.send_to_server(connection_, wire::encode(message));
      }) {}

void Operator::ask_for_logs(const CompleteState& state) {
  if (connection_ != 0) collector_.ask(state);
}

void Operator::connect() {
  StreamEnd end;
  end.received = [this](const std::string& bytes) { received(bytes); };
  end.ended = [this] {
    connection_ = 0;
    collector_.disconnected();
    world_.after(kReconnectPause, [this] { connect(); });
  };
  connection_ = network_.connect("operator", std::move(end));
  if (connection_ == 0) return world_.after(kReconnectPause, [this] { connect(); });
  network_.send_to_server(connection_,
                          wire::encode(ToServer(CommanderHello{std::string(kProtocolVersion)})));
}

void Operator::received(const std::string& bytes) {
  const auto message = wire::decode_from_server(bytes);
  if (!message)
    return world_.fail("the operator could not read a message: " + message.error().message);
  const auto* response = std::get_if<Response>(&*message);
  if (response != nullptr && !collector_.received(*response)) ++answered_;
}

// What the workloads of fake_interfaces.h may see.
static Tree rules() {
  return Tree::List{Tree::Map()
                        .set("type", "StateRule")
                        .set("operation", "Read")
                        .set("filterMasks", Tree::List{Tree("desiredState")})};
}

Tree Operator::random_workload() {
  Random& random = world_.random();
  static const std::vector<std::string> kImages{"service", "service", "service", "flaky", "job"};
  static const std::vector<std::string> kPolicies{"NEVER", "ON_FAILURE", "ALWAYS"};
  static const std::vector<std::string> kConditions{"ADD_COND_RUNNING", "ADD_COND_RUNNING",
                                                    "ADD_COND_SUCCEEDED", "ADD_COND_FAILED"};
  const std::string agent =
      random.chance(1, 20) ? (random.chance(1, 2) ? "" : "agent_nowhere") : random.pick(agents_);
  const std::string config = random.chance(1, 40) ? "nonsense"
                                                  : concat("image: ", random.pick(kImages), " #",
                                                           std::to_string(random.below(5)));
  Tree::List files;
  for (std::uint64_t i = random.chance(1, 3) ? 1 + random.below(3) : 0; i > 0; --i)
    files.push_back(Tree::Map()
                        .set("mountPoint", concat("/file_", std::to_string(i)))
                        .set("data", std::to_string(random.below(3))));
  auto workload = Tree::Map()
                      .set("agent", agent)
                      .set("runtime", random.chance(1, 40) ? "unknown" : kRuntime)
                      .set("runtimeConfig", config)
                      .set("restartPolicy", random.pick(kPolicies))
                      .set("tags", Tree::Map().set("revision", std::to_string(random.below(3))));
  if (!files.empty()) workload = workload.set("files", files);
  Tree::Map dependencies;
  if (random.chance(1, 3))
    for (std::uint64_t i = 1 + random.below(2); i > 0; --i)
      dependencies = dependencies.set(concat("workload_", std::to_string(random.below(12))),
                                      random.pick(kConditions));
  if (!dependencies.empty()) workload = workload.set("dependencies", dependencies);
  if (random.chance(1, 2))
    workload = workload.set("controlInterfaceAccess", Tree::Map().set("allowRules", rules()));
  return workload;
}

UpdateStateRequest Operator::random_update() {
  Random& random = world_.random();
  const auto name = [&] { return concat("workload_", std::to_string(random.below(12))); };
  UpdateStateRequest request;
  Tree::Map workloads;
  if (random.chance(1, 12)) {  // everything anew
    for (std::uint64_t i = random.below(8); i > 0; --i)
      workloads = workloads.set(name(), random_workload());
    if (random.chance(1, 2)) request.update_masks = {"desiredState"};
  } else if (random.chance(1, 10)) {  // nonsense that must be refused
    workloads = workloads.set("not a name!", random_workload());
    request.update_masks = {"desiredState.workloads.not a name!"};
  } else if (random.chance(1, 4)) {  // delete
    request.update_masks = {"desiredState.workloads." + name()};
  } else {  // add or replace some
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
      const std::string chosen = name();
      workloads = workloads.set(chosen, random_workload());
      request.update_masks.push_back("desiredState.workloads." + chosen);
    }
  }
  request.new_state = Tree::Map().set(
      "desiredState", Tree::Map().set("apiVersion", "v1").set("workloads", workloads));
  return request;
}

void Operator::update() {
  if (connection_ == 0) return;
  const Request request{concat("request-", std::to_string(++requests_)), random_update()};
  network_.send_to_server(connection_, wire::encode(ToServer(request)));
}

// -- One run --------------------------------------------------------------------------------------------------------

RunResult run_cluster(const RunOptions& options) {
  World world(options.seed, options.print_trace);
  Network network(world, options.mutation);
  Random& random = world.random();

  std::vector<std::unique_ptr<AgentNode>> agents;
  std::vector<std::string> names;
  for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
    names.push_back(concat("agent_", std::to_string(i)));
    agents.push_back(std::make_unique<AgentNode>(world, network, options.mutation, names.back()));
  }
  const bool durable = random.chance(1, 2);
  std::optional<State> manifest;
  if (random.chance(2, 3)) {
    auto workload = std::make_shared<Workload>();
    workload->agent = names.front();
    workload->runtime = kRuntime;
    workload->runtime_config = "image: service #manifest";
    manifest.emplace();
    manifest->workloads = manifest->workloads.set("from_manifest", WorkloadPtr(workload));
  }
  std::vector<server::Hook> hooks(random.chance(1, 3) ? 2 : 0, server::Hook{"fake"});
  ServerNode server(world, network, options.mutation, durable, std::move(manifest),
                    std::move(hooks));
  Operator user(world, network, names);
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (auto& masks : masks_of_watchers())
    watchers.push_back(std::make_unique<Watcher>(
        world, network, concat("watcher_", std::to_string(watchers.size())), std::move(masks)));
  const Checkers checkers(world, server, agents, user, watchers);

  server.start();
  for (auto& agent : agents)
    world.after(world.draw(seconds(0), seconds(5)), [&agent] { agent->start(); });
  world.after(seconds(1), [&user] { user.connect(); });
  for (auto& watcher : watchers)
    world.after(world.draw(seconds(0), seconds(20)), [&watcher] { watcher->connect(); });

  constexpr Duration kFaultyTime = minutes(10);
  constexpr Duration kQuietTime =
      minutes(25);  // longer than every pause and period of the machines
  const Instant quiet = Instant{} + kFaultyTime;
  for (Instant t = Instant{} + seconds(2); t < quiet;
       t = t + world.draw(milliseconds(100), seconds(12)))
    world.at(t, [&user] { user.update(); });
  for (Instant t = Instant{} + seconds(3); t < quiet;
       t = t + world.draw(milliseconds(100), seconds(20)))
    world.at(t, [&, collector = static_cast<std::size_t>(random.below(agents.size() + 1))] {
      if (server.shell() == nullptr) return;
      if (collector < agents.size())
        agents[collector]->ask_for_logs(server.shell()->state());
      else
        user.ask_for_logs(server.shell()->state());
    });
  for (Instant t = Instant{} + seconds(5); t < quiet; t = t + world.draw(seconds(1), seconds(15)))
    world.at(t, [&network] { network.disturb(); });
  for (Instant t = Instant{} + seconds(20); t < quiet;
       t = t + world.draw(seconds(20), seconds(120)))
    world.at(t, [&, victim = static_cast<std::size_t>(random.below(agents.size()))] {
      if (!world.fault("agent killed", 1, 1)) return;
      agents[victim]->kill();
      world.after(world.draw(milliseconds(10), seconds(30)),
                  [&, victim] { agents[victim]->start(); });
    });
  for (Instant t = Instant{} + seconds(60); t < quiet;
       t = t + world.draw(seconds(60), seconds(400)))
    world.at(t, [&] {
      if (!world.fault("server killed", 1, 1)) return;
      server.kill();
      world.after(world.draw(milliseconds(10), seconds(20)), [&] { server.start(); });
    });

  const auto check = [&checkers] { checkers.check_safety(); };
  world.set_faults(true);
  world.run_until(quiet, check);
  world.set_faults(false);
  world.line("the faults are over");
  world.run_until(quiet + kQuietTime, check);
  if (!world.failed()) checkers.check_liveness();
  return {world.failure(), world.trace_hash(), world.steps(), user.answered(), world.fired()};
}

}  // namespace tiphys::sim
