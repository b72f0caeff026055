//! The subcommand `dev`: the operator with an API server, rebuilt and restarted when a source changes.
//!
//! The API server runs in this process and stays, with its objects and with kubectl's connections. The operator is a process of its own:
//! its subcommand `dev --api-server-kubeconfig … --handover …` installs the definitions, waits until the operator before it has ended, and works. While a build
//! fails or the API server refuses the definitions, the operator of the last good build goes on.
//!
//! | file | holds |
//! | --- | --- |
//! | `session.rs` | the loop |
//! | `server.rs` | the API server and its kubeconfig |
//! | `stored.rs` | the kinds that the API server only stores |
//! | `operator.rs` | the process of the operator |
//! | `sources.rs` | whether a source has changed |
//! | `inputs.rs` | which files are sources |

mod inputs;
mod operator;
mod server;
mod session;
mod sources;
mod stored;

use std::env;

use crate::{arguments::DevOptions, error::Error, package};

pub(crate) fn run(options: DevOptions) -> Result<(), Error> {
    let package = package::find(&env::current_dir()?, options.package.as_deref())?;
    let program = package.program()?.to_owned();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(session::run(options, package, program))
}
