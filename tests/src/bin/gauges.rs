//! An operator that serves its kind in two versions.

use std::process::ExitCode;

use pilothouse_tests::gauges::{Seen, second_release};

fn main() -> ExitCode {
    second_release(&Seen::default()).main()
}
