//! The words behind a command, and the connection that they describe.

use std::collections::BTreeMap;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

/// What ends the program, with its exit code.
pub struct Error {
    pub code: i32,
    pub text: String,
}

impl Error {
    pub fn usage(text: String) -> Self {
        Self { code: 2, text }
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        // The cause is what a reader needs: tonic's own words are just "transport error".
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text += &format!(": {cause}");
            source = cause.source();
        }
        Self { code: 1, text }
    }
}

pub enum Address {
    Tcp(String),
    Unix(String),
}

pub struct Tls {
    ca: Certificate,
    identity: Identity,
}

pub struct Options {
    pub address: Address,
    pub tls: Option<Tls>,
    pub values: BTreeMap<String, String>,
    pub rest: Vec<String>,
}

/// `flag` is the option that holds the address; `more` names further options, which end with '=' if they have no value.
pub fn parse(words: Vec<String>, flag: &str, more: &[&str]) -> Result<Options, Error> {
    let known = [flag, "--ca", "--cert", "--key", "--server-name"];
    let mut values = BTreeMap::new();
    let mut rest = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if more.contains(&format!("{word}=").as_str()) {
            values.insert(word, String::new());
        } else if known.contains(&word.as_str()) || more.contains(&word.as_str()) {
            let value = words.next().ok_or_else(|| Error::usage(format!("{word}: a value is missing")))?;
            values.insert(word, value);
        } else if word.starts_with('-') {
            return Err(Error::usage(format!("unknown option {word}")));
        } else {
            rest.push(word);
        }
    }
    let given = values.get(flag).cloned().unwrap_or_default();
    let address = match given.split_once(':') {
        Some(("tcp", place)) => Address::Tcp(place.to_owned()),
        Some(("unix", path)) => Address::Unix(path.to_owned()),
        _ => return Err(Error::usage(format!("{flag}: expected tcp:HOST:PORT or unix:PATH, got '{given}'"))),
    };
    let tls = match (values.get("--ca"), values.get("--cert"), values.get("--key")) {
        (None, None, None) => None,
        (Some(ca), Some(cert), Some(key)) => {
            Some(Tls { ca: Certificate::from_pem(read(ca)?), identity: Identity::from_pem(read(cert)?, read(key)?) })
        }
        _ => return Err(Error::usage("--ca, --cert and --key belong together".to_owned())),
    };
    Ok(Options { address, tls, values, rest })
}

fn read(path: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error { code: 1, text: format!("{path}: {error}") })
}

impl Options {
    pub fn server_tls(&self) -> Option<ServerTlsConfig> {
        let tls = self.tls.as_ref()?;
        Some(ServerTlsConfig::new().identity(tls.identity.clone()).client_ca_root(tls.ca.clone()))
    }

    pub async fn connect(&self) -> Result<Channel, Error> {
        let endpoint = match (&self.address, &self.tls) {
            (Address::Unix(path), _) => Endpoint::from_shared(format!("unix:{path}"))?,
            (Address::Tcp(place), None) => Endpoint::from_shared(format!("http://{place}"))?,
            (Address::Tcp(place), Some(tls)) => {
                let name = self.values.get("--server-name").map_or("ank-server", String::as_str);
                let config =
                    ClientTlsConfig::new().ca_certificate(tls.ca.clone()).identity(tls.identity.clone()).domain_name(name);
                Endpoint::from_shared(format!("https://{place}"))?.tls_config(config)?
            }
        };
        Ok(endpoint.connect().await?)
    }
}
