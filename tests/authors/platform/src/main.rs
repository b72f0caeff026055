//! The program.

use author_platform::{Flags, operator};
use pilothouse::prelude::*;

fn main() -> ExitCode {
    operator(None).main_with::<Flags>()
}
