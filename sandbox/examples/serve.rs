//! Serves a sandbox over HTTPS until Ctrl-C, and writes a kubeconfig for it.
//!
//! `cargo run -p pilothouse-sandbox --example serve -- [address] [kubeconfig]`

use std::net::SocketAddr;
use std::path::PathBuf;

use pilothouse_sandbox::Sandbox;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let addr: SocketAddr = arguments
        .next()
        .as_deref()
        .unwrap_or("127.0.0.1:0")
        .parse()?;
    let path = arguments.next().map_or_else(
        || std::env::temp_dir().join("sandbox.kubeconfig"),
        PathBuf::from,
    );
    let sandbox = Sandbox::builder().simulator(true).build()?;
    let server = sandbox.serve_https(addr).await?;
    tokio::fs::write(&path, sandbox.kubeconfig(&server)).await?;
    println!("Serving https://{}. Try:", server.addr());
    println!("kubectl --kubeconfig {} get namespaces", path.display());
    tokio::signal::ctrl_c().await?;
    sandbox.shutdown().await;
    Ok(())
}
