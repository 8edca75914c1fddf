// Generates the service of the peers, and the services that a stock server, agent or command line speaks. The messages of
// the latter can also be read and written as JSON.
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let ours = peers.join("../../proto");
    let descriptors = PathBuf::from(std::env::var("OUT_DIR")?).join("descriptors");
    tonic_prost_build::configure().compile_protos(&[peers.join("peer.proto")], &[peers])?;
    tonic_prost_build::configure()
        .file_descriptor_set_path(&descriptors)
        .compile_protos(&[ours.join("grpc_api.proto")], &[ours])?;
    pbjson_build::Builder::new().register_descriptors(&std::fs::read(descriptors)?)?.build(&[".ank_base", ".grpc_api"])?;
    Ok(())
}
