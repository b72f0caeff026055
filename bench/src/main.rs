//! `cargo run --release -p pilothouse-bench`: see `bench/README.md`.

use std::{error::Error, process::ExitCode};

use clap::{ArgMatches, Command};
use pilothouse_bench::{harness, keeper, reader, server, waiter, writer};

fn main() -> ExitCode {
    let command = Command::new("pilothouse-bench")
        .about("Compares the speed of Pilothouse with that of its peers")
        .args(harness::arguments())
        .args_conflicts_with_subcommands(true)
        .subcommand(
            Command::new("serve")
                .about("Runs the bench's API server alone")
                .args(server::arguments()),
        )
        .subcommand(
            Command::new("read")
                .about("Reads from a server and discards all bytes")
                .args(reader::arguments()),
        )
        .subcommand(
            Command::new("write")
                .about("Sends applies to a server and does nothing else")
                .args(writer::arguments()),
        )
        .subcommand(
            Command::new("wait")
                .about("Waits for the stamped events of a server and does nothing else")
                .args(waiter::arguments()),
        )
        .subcommand(
            Command::new("keep")
                .about("Decodes Pods from memory into k8s-openapi's types and keeps them")
                .args(keeper::arguments()),
        )
        .subcommand(
            Command::new("touch")
                .about("Touches memory once and returns it")
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
