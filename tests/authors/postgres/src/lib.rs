//! A Postgres operator: Clusters of servers, and Databases in them.

mod cluster;
mod database;
mod engine;
mod password;

use pilothouse::{
    client::{Api, ListParams},
    operator::{CommandSetup, Setup, clap},
    prelude::*,
};

pub use cluster::{Cluster, ClusterReconciler, ClusterSpec, ClusterStatus, DeletionPolicy, Phase};
pub use database::{Database, DatabaseReconciler, DatabaseSpec, DatabaseStatus};
pub use engine::{Engine, EngineDatabase, LineEngine, Place};

/// The settings of this operator.
#[derive(clap::Args, Debug)]
pub struct Flags {
    /// The address of the engine's administration port.
    #[arg(long, default_value = "localhost:5433")]
    pub engine_address: String,
}

/// The subcommands of this operator.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Prints the Databases of all namespaces.
    List,
}

/// The operator, for `main` and for the tests. `connect` returns the engine.
pub fn operator<E: Engine>(
    connect: impl FnOnce(&Setup) -> Result<Arc<E>> + Send + 'static,
) -> Operator {
    Operator::new("postgres")
        .version(env!("CARGO_PKG_VERSION"))
        .controller(ClusterReconciler)
        .controller_with(async move |setup: Setup| {
            let engine = connect(&setup)?;
            DatabaseReconciler::new(engine, &setup)
        })
        .subcommands(async |Command::List, setup| list(setup).await)
}

async fn list(setup: CommandSetup) -> Result<()> {
    let client = setup.client().await?;
    let databases = Api::<Database>::all(&client);
    for database in &databases.list_all(&ListParams::default()).await?.items {
        println!("{}", database.line());
    }
    Ok(())
}
