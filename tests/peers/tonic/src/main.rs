//! tonic-peer is the peer made with tonic; ../README.md describes the words it understands.

mod client;
mod options;
mod server;
mod stock;

pub mod echo {
    tonic::include_proto!("tiphys.peer");
}

pub const MAX_MESSAGE: usize = 32 << 20;

pub fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i % 251) as u8).collect()
}

async fn run(words: Vec<String>) -> Result<i32, options::Error> {
    let mut words = words.into_iter();
    let command = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    match command.as_str() {
        "cases" => {
            client::case_names().iter().for_each(|name| println!("{name}"));
            Ok(0)
        }
        "serve" => server::serve(options::parse(rest, "--listen", &[])?).await,
        "call" => client::call(options::parse(rest, "--connect", &[])?).await,
        "stock-agent" => stock::agent(options::parse(rest, "--connect", &["--name", "--tags", "--protocol-version"])?).await,
        "stock-cli" => stock::cli(options::parse(rest, "--connect", &["--deprecated=", "--protocol-version"])?).await,
        "stock-server" => stock::server(options::parse(rest, "--listen", &["--server-hello", "--protocol-major"])?).await,
        other => Err(options::Error::usage(format!(
            "unknown command '{other}': expected cases, serve, call, stock-agent, stock-cli or stock-server"
        ))),
    }
}

#[tokio::main]
async fn main() {
    let code = run(std::env::args().skip(1).collect()).await.unwrap_or_else(|error| {
        eprintln!("tonic-peer: {}", error.text);
        error.code
    });
    std::process::exit(code);
}
