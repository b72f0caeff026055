//! `cargo run --release -p pilothouse-bench`: see `bench/README.md`.

use std::{error::Error, process::ExitCode};

use clap::{ArgMatches, Command};
use pilothouse_bench::{harness, keeper, reader, server, waiter, writer};

fn main() -> ExitCode {
    let command = Command::new("pilothouse-bench")
        .about("Measures Pilothouse side by side with its peers")
        .args(harness::arguments())
        .args_conflicts_with_subcommands(true)
        .subcommand(
            Command::new("serve")
                .about("The API server alone")
                .args(server::arguments()),
        )
        .subcommand(
            Command::new("read")
                .about("Reads from a server and looks at nothing")
                .args(reader::arguments()),
        )
        .subcommand(
            Command::new("write")
                .about("Applies to a server and does nothing else")
                .args(writer::arguments()),
        )
        .subcommand(
            Command::new("wait")
                .about("Waits for a server's stamped events and does nothing else")
                .args(waiter::arguments()),
        )
        .subcommand(
            Command::new("keep")
                .about("Reads Pods out of memory into k8s-openapi's types and keeps them")
                .args(keeper::arguments()),
        )
        .subcommand(
            Command::new("touch")
                .about("Takes memory once and gives it back")
                .args(harness::touch_arguments()),
        );
    match run(&command.get_matches()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    match matches.subcommand() {
        Some(("serve", matches)) => server::main(matches),
        Some(("read", matches)) => reader::main(matches),
        Some(("write", matches)) => writer::main(matches),
        Some(("wait", matches)) => waiter::main(matches),
        Some(("keep", matches)) => keeper::main(matches),
        Some(("touch", matches)) => {
            harness::touch(matches);
            Ok(())
        }
        _ => harness::main(matches),
    }
}
