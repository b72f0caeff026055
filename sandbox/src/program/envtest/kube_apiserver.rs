use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use pilothouse_sandbox::{HttpsOptions, Sandbox};

use super::flags::Flags;
use crate::{Result, serve, stop};

pub(super) const FLAGS: &[(&str, &str)] = &[
    ("audit-log-path", "file to which requests are logged"),
    (
        "authorization-mode",
        "with RBAC among the modes roles decide; otherwise everything is allowed",
    ),
    ("bind-address", "IP address to listen on"),
    (
        "cert-dir",
        "folder of apiserver.crt and apiserver.key; without these files the certificate is new",
    ),
    ("client-ca-file", "authority that signs client certificates"),
    ("secure-port", "port to listen on"),
    (
        "tls-cert-file",
        "server certificate; takes precedence over cert-dir",
    ),
    ("tls-private-key-file", "key of the server certificate"),
];

/// A sandbox that behaves as a kube-apiserver without a kube-controller-manager, as envtest has it.
pub(super) async fn run(flags: &Flags) -> Result<()> {
    let ip = flags.parsed("bind-address", IpAddr::V4(Ipv4Addr::UNSPECIFIED))?;
    let addr = SocketAddr::new(ip, flags.parsed("secure-port", 6443)?);
    let modes = flags
        .get("authorization-mode")
        .unwrap_or("AlwaysAllow")
        .split(',');
    let rbac = modes.map(str::trim).any(|mode| mode == "RBAC");
    let mut builder = Sandbox::builder().controllers(false).rbac(rbac);
    if let Some(path) = flags.get("audit-log-path") {
        builder = serve::audit(builder, Path::new(path))?;
    }
    let mut options = HttpsOptions::new(addr);
    if let Some((chain, key)) = certificate(flags) {
        options = options.certificate(read(&chain)?, read(&key)?);
    }
    if let Some(path) = flags.get("client-ca-file") {
        options = options.client_ca(read(Path::new(path))?);
    }
    let sandbox = builder.build()?;
    let server = sandbox.serve_https_with(&options).await;
    let server = server.map_err(|error| format!("listen on {addr}: {error}"))?;
    eprintln!(
        "kube-apiserver of pilothouse-sandbox: https://{}",
        server.addr()
    );
    stop::requested().await?;
    sandbox.shutdown().await;
    Ok(())
}

/// The files of the server certificate and of its key, if there are any.
fn certificate(flags: &Flags) -> Option<(PathBuf, PathBuf)> {
    if let (Some(chain), Some(key)) = (
        flags.get("tls-cert-file"),
        flags.get("tls-private-key-file"),
    ) {
        return Some((chain.into(), key.into()));
    }
    let folder = Path::new(flags.get("cert-dir")?);
    let (chain, key) = (folder.join("apiserver.crt"), folder.join("apiserver.key"));
    (chain.exists() && key.exists()).then_some((chain, key))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("read {}: {error}", path.display()).into())
}
