//! The operator that the soak test kills, stops and disconnects.

use pilothouse::prelude::ExitCode;

fn main() -> ExitCode {
    pilothouse_tests::soak::operator().main()
}
