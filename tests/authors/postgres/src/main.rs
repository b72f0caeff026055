//! The program: it reaches the engine at the address of a flag.

use std::sync::Arc;

use author_postgres::{Flags, LineEngine, operator};
use pilothouse::prelude::*;

fn main() -> ExitCode {
    operator(|setup| {
        let flags = setup.flags::<Flags>()?;
        Ok(Arc::new(LineEngine::new(flags.engine_address)))
    })
    .main_with::<Flags>()
}
