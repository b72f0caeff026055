use std::fs::OpenOptions;
use std::path::Path;

use pilothouse_sandbox::{Builder, Sandbox};

use super::arguments::Options;
use super::{Result, private_file, stop};

/// Serves until a signal stops it. One line on standard output says that it is ready.
pub(crate) async fn run(options: Options) -> Result<()> {
    let mut builder = Sandbox::builder()
        .rbac(options.rbac)
        .simulator(options.simulate)
        .cbor(options.cbor)
        .controls_over_http(options.controls);
    if let Some(seed) = options.seed {
        builder = builder.seed(seed);
    }
    if let Some(folder) = &options.data {
        builder = builder.data(folder);
    }
    if let Some(path) = &options.audit {
        builder = audit(builder, path)?;
    }
    let sandbox = builder.build()?;
    let server = sandbox.serve_https(options.addr).await;
    let server = server.map_err(|error| format!("listen on {}: {error}", options.addr))?;
    private_file::write(&options.kubeconfig, &sandbox.kubeconfig(&server))?;
    println!(
        "ready: https://{} (kubectl --kubeconfig {} …)",
        server.addr(),
        options.kubeconfig.display()
    );
    stop::requested().await?;
    sandbox.shutdown().await;
    Ok(())
}

/// Appends the audit log to a file.
pub(crate) fn audit(builder: Builder, path: &Path) -> Result<Builder> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    let file = file.map_err(|error| format!("open the audit log {}: {error}", path.display()))?;
    Ok(builder.audit(file))
}
