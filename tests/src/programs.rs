//! Programs that a test starts.

use std::{env, process::Command};

/// The variable that names the sabotage to replay: `tests/SABOTAGE.md`.
const SABOTAGE: &str = "PILOTHOUSE_SABOTAGE";

/// The program, with an environment that is empty, so that nothing of the machine changes what it does. A sabotage that
/// is replayed is on in the program as it is in the test.
pub fn with_clear_environment(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    if let Some(name) = env::var_os(SABOTAGE) {
        command.env(SABOTAGE, name);
    }
    command
}
