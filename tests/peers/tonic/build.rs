// Generates the service of the peers, and the services that a stock server, agent or command line speaks.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let peers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let ours = peers.join("../../proto");
    tonic_prost_build::configure().compile_protos(&[peers.join("peer.proto")], &[peers])?;
    tonic_prost_build::configure().compile_protos(&[ours.join("grpc_api.proto")], &[ours])?;
    Ok(())
}
