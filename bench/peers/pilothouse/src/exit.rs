//! An operator as its users write it, with the framework's own `main`, which is told to end when its cache is full.

use std::{process::ExitCode, sync::Arc, thread};

use pilothouse::{operator::Operator, server::Address};
use tokio::runtime::Builder;

use crate::{
    controllers::Nothing,
    shared::{
        drain::Drain,
        process::{Results, setting},
    },
};

/// Runs the operator until SIGTERM. It has no Lease, as the other peers, and serves metrics on a free port of this machine.
pub fn run(results: Results) -> ExitCode {
    let drain = Arc::new(Drain::new(setting("BENCH_OBJECTS")));
    let seen = drain.clone();
    thread::spawn(move || report(results, &seen));
    let address: Address = match "127.0.0.1:0".parse() {
        Ok(address) => address,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    Operator::new("bench")
        .election(None)
        .metrics_address(address)
        .controller(Nothing(drain))
        .main()
}

/// Prints the results when all objects were reconciled, and then that the process may be told to end.
fn report(mut results: Results, drain: &Drain) {
    let runtime = Builder::new_current_thread().enable_time().build();
    match runtime {
        Ok(runtime) => runtime.block_on(drain.measure(&mut results)),
        Err(error) => return eprintln!("{error}"),
    }
    results.print();
    println!("synced");
}
