//! The program of the operator.

use pilothouse::prelude::*;

fn main() -> ExitCode {
    author_cronjob::operator()
        .example("tests/authors/cronjob/cronjob.yaml")
        .main()
}
