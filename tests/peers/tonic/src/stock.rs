//! Plays a stock agent, command line or server, as far as the wire can tell: tonic's receive limit of 4 MiB, the hello on its way before
//! there are response headers, messages that lack something dropped. What is received is printed, what is read is sent,
//! both as lines of JSON; ../README.md describes them.

use crate::options::{Error, Options};
use crate::server;
use grpc_api::agent_connection_client::AgentConnectionClient;
use grpc_api::cli_connection_client::CliConnectionClient;
use grpc_api::command_connection_client::CommandConnectionClient;
use grpc_api::from_server::FromServerEnum;
use grpc_api::to_server::ToServerEnum;
use grpc_api::{AgentHello, CommanderHello, FromServer, ServerHello, ToServer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

pub mod ank_base {
    tonic::include_proto!("ank_base");
    include!(concat!(env!("OUT_DIR"), "/ank_base.serde.rs"));
}

#[allow(deprecated)] // CliConnection
pub mod grpc_api {
    tonic::include_proto!("grpc_api");
    include!(concat!(env!("OUT_DIR"), "/grpc_api.serde.rs"));
}

const PROTOCOL_VERSION: &str = "1.1.0-pre";
const QUEUE: usize = 20; // messages, as in every queue of the stock programs

const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

fn as_json(status: &Status) -> Value {
    json!({"code": CODES[status.code() as usize], "message": status.message()})
}

// --- what must be there ---

/// What a message lacks, in the words of the one who drops it.
type Complete = Result<(), String>;

fn present<T>(field: &Option<T>, name: &str) -> Result<(), String> {
    field.as_ref().map(drop).ok_or_else(|| format!("no {name}"))
}

fn check_state(state: &ank_base::WorkloadState) -> Complete {
    present(&state.instance_name, "instanceName")?;
    let execution = state.execution_state.as_ref().ok_or("no executionState")?;
    present(&execution.additional_info, "additionalInfo")?;
    present(&execution.execution_state_enum, "member of executionState")
}

fn check_workload(added: &grpc_api::AddedWorkload) -> Complete {
    present(&added.instance_name, "instanceName")?;
    let workload = added.workload.as_ref().ok_or("no workload")?;
    present(&workload.agent, "agent")?;
    present(&workload.runtime, "runtime")?;
    present(&workload.runtime_config, "runtimeConfig")?;
    for file in workload.files.iter().flat_map(|files| &files.files) {
        present(&file.file_content, "content of a file")?;
    }
    let access = workload.control_interface_access.iter();
    for rule in access.flat_map(|access| access.allow_rules.iter().chain(&access.deny_rules)) {
        present(&rule.access_rights_rule_enum, "member of an access rule")?;
    }
    Ok(())
}

fn check_from_server(message: &FromServer) -> Complete {
    use FromServerEnum::*;
    match message.from_server_enum.as_ref().ok_or("no member of FromServer")? {
        ServerHello(hello) => hello.added_workloads.iter().try_for_each(check_workload),
        UpdateWorkload(update) => {
            update.added_workloads.iter().try_for_each(check_workload)?;
            update.deleted_workloads.iter().try_for_each(|deleted| present(&deleted.instance_name, "instanceName"))
        }
        UpdateWorkloadState(update) => update.workload_states.iter().try_for_each(check_state),
        Response(response) => present(&response.response_content, "content of the response"),
        LogsRequest(request) => present(&request.logs_request, "logsRequest"),
        LogsCancelRequest(_) => Ok(()),
    }
}

enum Flaw {
    /// The reader of the stream gives up.
    Fatal(String),
    /// The message is ignored.
    Dropped(String),
}

/// Removes single workload states that lack something; a server uses the others.
fn check_to_server(message: &mut ToServer) -> Result<(), Flaw> {
    use ToServerEnum::*;
    let content = message.to_server_enum.as_mut().ok_or(Flaw::Fatal("Missing to_server".to_owned()))?;
    match content {
        UpdateWorkloadState(update) => update.workload_states.retain(|state| {
            check_state(state).inspect_err(|lacking| eprintln!("tonic-peer: dropped a workload state: {lacking}")).is_ok()
        }),
        Request(request) => match &request.request_content {
            None => {
                return Err(Flaw::Fatal(format!("Request content empty for request ID: '{}'", request.request_id)));
            }
            Some(ank_base::request::RequestContent::UpdateStateRequest(update)) => {
                present(&update.new_state, "CompleteState for forwarding.").map_err(Flaw::Fatal)?;
            }
            Some(_) => (),
        },
        LogEntriesResponse(entries) => present(&entries.log_entries_response, "logEntriesResponse").map_err(Flaw::Dropped)?,
        LogsStopResponse(stop) => present(&stop.logs_stop_response, "logsStopResponse").map_err(Flaw::Dropped)?,
        AgentHello(_) | CommanderHello(_) => return Err(Flaw::Dropped("unexpected hello".to_owned())),
        Goodbye(_) | AgentLoadStatus(_) => (),
    }
    Ok(())
}

// --- agent, command line ---

/// Each line of stdin is a message; its end is the half-close.
fn send_lines_of_stdin(sender: mpsc::Sender<ToServer>) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str(&line) {
                Ok(message) => {
                    if sender.blocking_send(message).is_err() {
                        return;
                    }
                }
                Err(error) => eprintln!("tonic-peer: not sent: {error}; expected a ToServer in JSON, got: {line}"),
            }
        }
    });
}

async fn receive(mut messages: Streaming<FromServer>) -> Status {
    loop {
        match messages.message().await {
            Ok(Some(message)) => match check_from_server(&message) {
                Ok(()) => println!("{}", json!({"received": message})),
                Err(lacking) => eprintln!("tonic-peer: dropped a message: {lacking}"),
            },
            Ok(None) => return Status::ok(""),
            Err(status) => return status,
        }
    }
}

/// The hello is the first element of the request stream and on its way before there are response headers, which tonic waits for.
fn begin(hello: ToServerEnum) -> Result<(mpsc::Sender<ToServer>, ReceiverStream<ToServer>), Error> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    sender.try_send(ToServer { to_server_enum: Some(hello) })?;
    Ok((sender, ReceiverStream::new(receiver)))
}

async fn converse(opened: Result<Response<Streaming<FromServer>>, Status>, sender: mpsc::Sender<ToServer>) -> Result<i32, Error> {
    let status = match opened {
        Ok(response) => {
            println!("{}", json!({"connected": true}));
            send_lines_of_stdin(sender);
            receive(response.into_inner()).await
        }
        Err(status) => status,
    };
    println!("{}", json!({"ended": as_json(&status)}));
    Ok(0)
}

fn protocol_version(options: &Options) -> String {
    options.values.get("--protocol-version").map_or(PROTOCOL_VERSION, String::as_str).to_owned()
}

pub async fn agent(options: Options) -> Result<i32, Error> {
    let agent_name = options.values.get("--name").cloned().unwrap_or_default();
    let tags = options.values.get("--tags").map_or(Ok(HashMap::new()), |text| serde_json::from_str(text));
    let tags = tags.map_err(|error| Error::usage(format!("--tags: expected an object with texts: {error}")))?;
    let hello = AgentHello { agent_name, protocol_version: protocol_version(&options), tags: Some(ank_base::Tags { tags }) };
    let (sender, messages) = begin(ToServerEnum::AgentHello(hello))?;
    let mut client = AgentConnectionClient::new(options.connect().await?);
    converse(client.connect_agent(messages).await, sender).await
}

#[allow(deprecated)] // CliConnection, which command lines in the field use
pub async fn cli(options: Options) -> Result<i32, Error> {
    let hello = CommanderHello { protocol_version: protocol_version(&options) };
    let (sender, messages) = begin(ToServerEnum::CommanderHello(hello))?;
    let channel = options.connect().await?;
    let opened = if options.values.contains_key("--deprecated") {
        CliConnectionClient::new(channel).connect_cli(messages).await
    } else {
        CommandConnectionClient::new(channel).connect_command(messages).await
    };
    converse(opened, sender).await
}

// --- server ---

type Outgoing = mpsc::Sender<Result<FromServer, Status>>;
type Replies = ReceiverStream<Result<FromServer, Status>>;

/// Who is connected, by name. A second agent of a name replaces the first.
#[derive(Default)]
struct Registry {
    clients: HashMap<String, (u64, Outgoing)>,
    connections: u64,
}

#[derive(Clone)]
struct Stock {
    registry: Arc<Mutex<Registry>>,
    server_hello: ServerHello,
    major: u64,
}

impl Stock {
    fn check_version(&self, received: &str) -> Result<(), Status> {
        let major = self.major;
        let core = received.split(['-', '+']).next().unwrap_or_default();
        let numbers: Vec<_> = core.split('.').map(str::parse::<u64>).collect();
        match numbers.as_slice() {
            [Ok(number), Ok(_), Ok(_)] if *number == major => Ok(()),
            _ => Err(Status::failed_precondition(format!(
                "Unsupported protocol version '{received}'. Currently supported '{major}'"
            ))),
        }
    }

    fn register(&self, name: impl FnOnce(u64) -> String, outgoing: Outgoing) -> (u64, String) {
        let mut registry = self.registry.lock().unwrap();
        registry.connections += 1;
        let connection = registry.connections;
        let name = name(connection);
        registry.clients.insert(name.clone(), (connection, outgoing));
        (connection, name)
    }

    fn forget(&self, name: &str, connection: u64) {
        let mut registry = self.registry.lock().unwrap();
        if registry.clients.get(name).is_some_and(|client| client.0 == connection) {
            registry.clients.remove(name);
        }
    }

    /// The first message is read before the response headers are sent; what is wrong with it becomes the status.
    async fn accept_agent(&self, request: Request<Streaming<ToServer>>) -> Result<Response<Replies>, Status> {
        let mut messages = request.into_inner();
        let hello = match first(&mut messages).await? {
            ToServerEnum::AgentHello(hello) => hello,
            _ => return Err(Status::invalid_argument("No AgentHello received.")),
        };
        self.check_version(&hello.protocol_version)?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let answer = FromServer { from_server_enum: Some(FromServerEnum::ServerHello(self.server_hello.clone())) };
        let _ = sender.try_send(Ok(answer));
        let (connection, name) = self.register(|_| hello.agent_name.clone(), sender);
        println!("{}", json!({"connected": name, "service": "AgentConnection", "hello": hello}));
        tokio::spawn(self.clone().read(messages, name, connection, true));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn accept_commander(
        &self,
        request: Request<Streaming<ToServer>>,
        service: &str,
        prefix: &str,
    ) -> Result<Response<Replies>, Status> {
        let mut messages = request.into_inner();
        let hello = match first(&mut messages).await? {
            ToServerEnum::CommanderHello(hello) => hello,
            _ => return Err(Status::invalid_argument("No CommanderHello received.")),
        };
        self.check_version(&hello.protocol_version)?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let (connection, name) = self.register(|number| format!("{prefix}-{number}"), sender);
        println!("{}", json!({"connected": name, "service": service, "hello": hello}));
        tokio::spawn(self.clone().read(messages, name, connection, false));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn read(self, mut messages: Streaming<ToServer>, name: String, connection: u64, agent: bool) {
        let (status, keep) = loop {
            match messages.message().await {
                // An agent that leaves in good order stays registered, and its call open.
                Ok(None) => break (Status::ok(""), agent),
                Err(status) => break (status, false),
                Ok(Some(mut message)) => match check_to_server(&mut message) {
                    Err(Flaw::Fatal(lacking)) => {
                        eprintln!("tonic-peer: {name} sent a message that cannot be read: {lacking}");
                        break (Status::invalid_argument(lacking), false);
                    }
                    Err(Flaw::Dropped(lacking)) => eprintln!("tonic-peer: dropped a message of {name}: {lacking}"),
                    Ok(()) => {
                        println!("{}", json!({"from": name, "received": message}));
                        if matches!(message.to_server_enum, Some(ToServerEnum::Goodbye(_))) {
                            break (Status::ok("goodbye"), agent);
                        }
                    }
                },
            }
        };
        println!("{}", json!({"from": name, "ended": as_json(&status)}));
        if !keep {
            self.forget(&name, connection);
        }
    }

    /// Does what a line says; answers with what is wrong with it.
    async fn obey(&self, line: &str) -> Result<(), String> {
        const EXPECTED: &str = "expected {\"to\": NAME, \"send\": FromServer} or {\"to\": NAME, \"end\": true}";
        let mut line: Value = serde_json::from_str(line).map_err(|error| format!("{error}; {EXPECTED}"))?;
        let name = line["to"].as_str().ok_or(EXPECTED)?.to_owned();
        let known = self.registry.lock().unwrap().clients.get(&name).cloned();
        let (connection, client) = known.ok_or_else(|| format!("nobody is connected as '{name}'"))?;
        if line["end"] == json!(true) {
            self.forget(&name, connection);
            return Ok(());
        }
        let message: FromServer = serde_json::from_value(line["send"].take()).map_err(|error| format!("{error}; {EXPECTED}"))?;
        client.send(Ok(message)).await.map_err(|_| format!("'{name}' is gone"))
    }

    async fn obey_stdin(self) {
        let (sender, mut lines) = mpsc::channel(QUEUE);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let _ = sender.blocking_send(line);
            }
        });
        while let Some(line) = lines.recv().await {
            if let Err(wrong) = self.obey(&line).await {
                eprintln!("tonic-peer: not sent: {wrong}");
            }
        }
        std::process::exit(0);
    }
}

async fn first(messages: &mut Streaming<ToServer>) -> Result<ToServerEnum, Status> {
    let message = messages.message().await?.and_then(|message| message.to_server_enum);
    message.ok_or_else(|| Status::invalid_argument("Empty"))
}

#[tonic::async_trait]
impl grpc_api::agent_connection_server::AgentConnection for Stock {
    type ConnectAgentStream = Replies;
    async fn connect_agent(&self, request: Request<Streaming<ToServer>>) -> Result<Response<Replies>, Status> {
        self.accept_agent(request).await
    }
}

#[tonic::async_trait]
#[allow(deprecated)]
impl grpc_api::cli_connection_server::CliConnection for Stock {
    type ConnectCliStream = Replies;
    async fn connect_cli(&self, request: Request<Streaming<ToServer>>) -> Result<Response<Replies>, Status> {
        self.accept_commander(request, "CliConnection", "cli-conn").await
    }
}

#[tonic::async_trait]
impl grpc_api::command_connection_server::CommandConnection for Stock {
    type ConnectCommandStream = Replies;
    async fn connect_command(&self, request: Request<Streaming<ToServer>>) -> Result<Response<Replies>, Status> {
        self.accept_commander(request, "CommandConnection", "commander-conn").await
    }
}

#[allow(deprecated)]
pub async fn server(options: Options) -> Result<i32, Error> {
    let given = options.values.get("--server-hello").map_or("{}", String::as_str);
    let server_hello =
        serde_json::from_str(given).map_err(|error| Error::usage(format!("--server-hello: expected a ServerHello: {error}")))?;
    let major = options.values.get("--protocol-major").map_or(Ok(1), |text| text.parse());
    let major = major.map_err(|error| Error::usage(format!("--protocol-major: expected a number: {error}")))?;
    let stock = Stock { registry: Arc::default(), server_hello, major };
    tokio::spawn(stock.clone().obey_stdin());
    let router = server::builder(&options)?
        .add_service(grpc_api::agent_connection_server::AgentConnectionServer::new(stock.clone()))
        .add_service(grpc_api::cli_connection_server::CliConnectionServer::new(stock.clone()))
        .add_service(grpc_api::command_connection_server::CommandConnectionServer::new(stock));
    server::run(router, &options).await
}
