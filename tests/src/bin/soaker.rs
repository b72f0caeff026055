//! The operator that the soak kills, stops and cuts off.

use pilothouse::prelude::ExitCode;

fn main() -> ExitCode {
    pilothouse_tests::soak::operator().main()
}
